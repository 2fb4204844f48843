// What a test asks of the server beside the protocol, as JSON over POST below /testkit/. Not part of any standard.

export const PREFIX = '/testkit/';

export function admin(desk, vault, keys, settings) {
  const verbs = {
    ready: async () => ({}),
    settings: async (changed) => Object.assign(settings, changed),
    journal: async () => desk.journal,
    secrets: async () => [...desk.secrets],
    devices: async ({ least }) => desk.waiting(least),
    fault: async (fault) => desk.add(fault),
    mend: async () => desk.clear(),
    hold: async ({ id, at, when }) => desk.hold(id, at, when),
    release: async ({ id }) => desk.release(id),
    arrivals: async ({ id, count }) => desk.arrivals(id, count),
    answered: async ({ at, count }) => desk.answered(at, count),
    living: async ({ user }) => vault.livingRefreshTokens(user),
    revoke: async ({ user }) => vault.revokeUser(user),
    expire_devices: async () => vault.expireDevices(),
    replace_key: async () => keys.replace(),
  };
  return async (req, res) => {
    const verb = verbs[req.url.slice(PREFIX.length)];
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const result = await verb(JSON.parse(Buffer.concat(chunks).toString()));
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify(result ?? null));
  };
}
