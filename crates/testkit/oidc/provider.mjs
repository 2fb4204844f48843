// The provider as mail providers are: public native clients, loopback redirects, PKCE, devices, JWTs for a mail server.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ALGORITHM } from './keys.mjs';

const RESOURCE = 'urn:mailwarden:imap';
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
const DAY = 86_400;

export async function build({ issuer, modules, scopes, clients }, settings, vault, keys) {
  const require = createRequire(join(modules, 'node_modules', 'x.js'));
  const { default: Provider, errors } = await import(pathToFileURL(require.resolve('oidc-provider')).href);
  const now = () => Math.floor(Date.now() / 1000);

  const provider = new Provider(issuer, {
    adapter: vault.adapter(),
    clients: clients.map(native),
    clientDefaults: { id_token_signed_response_alg: ALGORITHM },
    enabledJWA: { idTokenSigningAlgValues: [ALGORITHM] },
    jwks: keys.jwks,
    cookies: { keys: ['of no secrecy'] },
    scopes,
    claims: { email: ['email', 'email_verified'] },
    findAccount: (ctx, sub) => ({
      accountId: sub,
      claims: () => ({ sub, email: sub, email_verified: true }),
    }),
    pkce: { required: () => true },
    rotateRefreshToken: () => settings.rotation !== 'never',
    issueRefreshToken: async () => true,
    ttl: {
      AccessToken: () => settings.accessSeconds,
      AuthorizationCode: 60,
      DeviceCode: 600,
      Grant: DAY,
      IdToken: 300,
      Interaction: 600,
      RefreshToken: DAY,
      Session: 600,
    },
    extraTokenClaims: (ctx, token) => ({ email: token.accountId }),
    formats: {
      customizers: {
        jwt: (ctx, token, parts) => {
          // QUIRK: Dovecot 2.3 refuses the type `at+jwt` of RFC 9068.
          parts.header = { ...parts.header, typ: 'JWT' };
          if (settings.stillborn) Object.assign(parts.payload, { iat: now() - 120, exp: now() - 60 });
        },
      },
    },
    features: {
      devInteractions: { enabled: false },
      deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****' },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, resource) => {
          if (resource !== RESOURCE) throw new errors.InvalidTarget();
          return {
            scope: scopes.join(' '),
            audience: settings.audience,
            accessTokenTTL: settings.accessSeconds,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: ALGORITHM, kid: keys.kid } },
          };
        },
      },
    },
    interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  });

  // Any path on a loopback address, as with the desktop clients of large providers.
  provider.Client.prototype.redirectUriAllowed = (uri) => {
    const { protocol, hostname } = new URL(uri);
    return protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  };
  return provider;
}

function native({ id, secret }) {
  return {
    client_id: id,
    application_type: 'native',
    ...(secret
      ? { client_secret: secret, token_endpoint_auth_method: 'client_secret_post' }
      : { token_endpoint_auth_method: 'none' }),
    redirect_uris: ['http://127.0.0.1/'],
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token', DEVICE],
  };
}
