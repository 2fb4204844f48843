// The keys that sign access tokens, one at a time, and the directory in which a mail server looks for the one in use.

import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const ALGORITHM = 'ES256';

// The provider takes its keys once and for all, so there are some in reserve.
const COUNT = 8;

export class Keys {
  #pairs;
  #dir;
  #current = 0;

  constructor(dir) {
    this.#dir = join(dir, 'default', ALGORITHM);
    mkdirSync(this.#dir, { recursive: true, mode: 0o755 });
    this.#pairs = Array.from({ length: COUNT }, (_, number) => ({
      kid: `key-${number}`,
      ...generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    }));
    this.#publish();
  }

  get kid() {
    return this.#pairs[this.#current].kid;
  }

  get jwks() {
    const keys = this.#pairs.map(({ kid, privateKey }) => ({
      ...privateKey.export({ format: 'jwk' }),
      kid,
      use: 'sig',
      alg: ALGORITHM,
    }));
    return { keys };
  }

  // Whatever was signed before is signed by a key that nobody knows any more.
  replace() {
    if (this.#current + 1 === COUNT) throw new Error('no key is left in reserve');
    rmSync(join(this.#dir, this.kid));
    this.#current += 1;
    this.#publish();
  }

  #publish() {
    const pem = this.#pairs[this.#current].publicKey.export({ type: 'spki', format: 'pem' });
    writeFileSync(join(this.#dir, this.kid), pem, { mode: 0o644 });
  }
}
