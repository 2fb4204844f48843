// What the provider has given out, in memory, so that a test can look at it and take it away. Knows no protocol.

const now = () => Math.floor(Date.now() / 1000);

export class Vault {
  // Model name → id → { payload, until }.
  #models = new Map();
  #settings;

  constructor(settings) {
    this.#settings = settings;
  }

  // What `new Provider` wants as its adapter: a store for one model.
  adapter() {
    return (model) => ({
      upsert: async (id, payload, lifetime) => {
        this.#of(model).set(id, { payload, until: lifetime ? now() + lifetime : Infinity });
      },
      find: async (id) => this.#find(model, id),
      findByUid: async (uid) => this.#search(model, (payload) => payload.uid === uid),
      findByUserCode: async (code) => this.#search(model, (payload) => payload.userCode === code),
      consume: async (id) => {
        // A server that is lenient goes on taking a refresh token for which it has given another.
        if (model === 'RefreshToken' && this.#settings.rotation === 'lenient') return;
        const payload = this.#find(model, id);
        if (payload) payload.consumed = now();
      },
      destroy: async (id) => {
        this.#of(model).delete(id);
      },
      revokeByGrantId: async (grant) => this.#revoke(grant),
    });
  }

  // Refresh tokens that would be taken now. Their names are the tokens: the provider's format is opaque.
  livingRefreshTokens(user) {
    return [...this.#of('RefreshToken')]
      .filter(([id]) => this.#find('RefreshToken', id))
      .filter(([, { payload }]) => payload.accountId === user && !payload.consumed)
      .filter(([, { payload }]) => this.#find('Grant', payload.grantId))
      .map(([id]) => id);
  }

  // As a user does who takes a program's leave away. Says how many grants there were.
  revokeUser(user) {
    const grants = [...this.#of('Grant')].filter(([, { payload }]) => payload.accountId === user);
    for (const [id] of grants) this.#revoke(id);
    return grants.length;
  }

  // Device codes nobody has entered yet.
  expireDevices() {
    for (const entry of this.#of('DeviceCode').values()) entry.payload.exp = now() - 1;
  }

  #revoke(grant) {
    for (const entries of this.#models.values()) {
      for (const [id, { payload }] of entries) if (payload.grantId === grant) entries.delete(id);
    }
    this.#of('Grant').delete(grant);
  }

  #of(model) {
    if (!this.#models.has(model)) this.#models.set(model, new Map());
    return this.#models.get(model);
  }

  #find(model, id) {
    const entry = this.#of(model).get(id);
    return entry && entry.until > now() ? entry.payload : undefined;
  }

  #search(model, wanted) {
    const found = [...this.#of(model)].find(([, { payload }]) => wanted(payload));
    return found && this.#find(model, found[0]);
  }
}
