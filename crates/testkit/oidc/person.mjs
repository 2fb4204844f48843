// Whoever sits before the browser: logs in as the login hint says, agrees to everything, and if called "deny" to nothing.

export function person(provider, settings) {
  return async (req, res) => {
    const asked = await provider.interactionDetails(req, res);
    const finish = (result, merge) =>
      provider.interactionFinished(req, res, result, { mergeWithLastSubmission: merge });
    const user = asked.params.login_hint || settings.person;
    if (user === 'deny') {
      return finish({ error: 'access_denied', error_description: 'the user refused' }, false);
    }
    if (asked.prompt.name === 'login') {
      return finish({ login: { accountId: user, remember: false } }, false);
    }
    return finish({ consent: { grantId: await consent(provider, asked) } }, true);
  };
}

async function consent(provider, asked) {
  const grant = asked.grantId
    ? await provider.Grant.find(asked.grantId)
    : new provider.Grant({ accountId: asked.session.accountId, clientId: asked.params.client_id });
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = asked.prompt.details;
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '));
  if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
  for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  return grant.save();
}
