// Where every request passes: counted, held at a named point, failed on demand, and its answer changed. Decides by itself
// nothing about tokens.

import { EventEmitter, once } from 'node:events';
import { parse } from 'node:querystring';
import { Readable } from 'node:stream';

const DISCOVERY = /^\/\.well-known\/(openid-configuration|oauth-authorization-server)/;
const GRANTS = {
  authorization_code: 'exchange',
  refresh_token: 'refresh',
  'urn:ietf:params:oauth:grant-type:device_code': 'poll',
};
// What must never be seen anywhere, of requests and of answers.
const SECRET_IN = ['code', 'code_verifier', 'refresh_token', 'device_code', 'client_secret'];
const SECRET_OUT = ['access_token', 'refresh_token', 'id_token', 'device_code'];

export class Desk {
  journal = [];
  secrets = new Set();
  #devices = [];
  #faults = [];
  #holds = new Map();
  #told = new EventEmitter().setMaxListeners(0);
  #settings;

  constructor(settings) {
    this.#settings = settings;
  }

  middleware() {
    return async (ctx, next) => {
      const body = await this.#readBody(ctx);
      const at = endpoint(ctx, body);
      const entry = { endpoint: at, client: body.client_id ?? ctx.query.client_id ?? null, outcome: null, status: null };
      this.journal.push(entry);
      for (const name of SECRET_IN) if (body[name]) this.secrets.add(body[name]);
      await this.#wait(at, 'before');
      if (!(await this.#strike(ctx, at, 'before'))) {
        await next();
        this.#note(ctx, at, entry);
        await this.#wait(at, 'after');
        await this.#strike(ctx, at, 'after');
      }
      entry.status = ctx.respond === false ? 0 : ctx.status;
      this.#told.emit('change');
    };
  }

  add(fault) {
    this.#faults.push({ left: fault.times ?? Infinity, ...fault });
  }

  clear() {
    this.#faults = [];
  }

  hold(id, at, when) {
    this.#holds.set(id, { at, when, arrived: 0, open: new EventEmitter().setMaxListeners(0) });
  }

  release(id) {
    const hold = this.#holds.get(id);
    this.#holds.delete(id);
    hold?.open.emit('open');
  }

  async arrivals(id, count) {
    while ((this.#holds.get(id)?.arrived ?? Infinity) < count) await once(this.#told, 'change');
  }

  // Until so many requests have been answered there.
  async answered(at, count) {
    const done = () => this.journal.filter((entry) => entry.endpoint === at && entry.status !== null).length;
    while (done() < count) await once(this.#told, 'change');
  }

  // Devices that asked for a code, once there are so many.
  async waiting(least) {
    while (this.#devices.length < least) await once(this.#told, 'change');
    return this.#devices;
  }

  // Requests are read here, because which grant is asked for stands in the body; the provider takes what was read.
  async #readBody(ctx) {
    if (ctx.method !== 'POST') return {};
    const chunks = [];
    for await (const chunk of ctx.req) chunks.push(chunk);
    ctx.req.body = Buffer.concat(chunks).toString();
    return parse(ctx.req.body);
  }

  async #wait(at, when) {
    for (const hold of this.#holds.values()) {
      if (hold.at !== at || hold.when !== when) continue;
      hold.arrived += 1;
      const opened = once(hold.open, 'open');
      this.#told.emit('change');
      await opened;
    }
  }

  // Does what the first fault in line for this point says; true where that was the whole answer.
  async #strike(ctx, at, when) {
    const fault = this.#faults.find((fault) => fault.at === at && fault.when === when && fault.left > 0);
    if (!fault) return false;
    fault.left -= 1;
    if (fault.delay) await new Promise((done) => setTimeout(done, fault.delay));
    if (fault.patch) ctx.body = patched(ctx.body, fault.patch);
    if (fault.cut) {
      ctx.respond = false;
      ctx.req.socket.destroy();
      return true;
    }
    if (fault.echo) {
      const said = ctx.req.body ?? ctx.querystring;
      const plain = JSON.stringify(parse(said));
      ctx.status = fault.echo;
      ctx.set({ 'content-type': 'application/json', 'www-authenticate': `Bearer error_description="${said}"` });
      ctx.body = JSON.stringify({ error: said, error_description: plain, error_uri: `https://x.test/?${said}`, scope: said });
      return true;
    }
    if (fault.answer) {
      ctx.status = fault.answer.status;
      ctx.set({ 'content-type': 'application/json', ...fault.answer.headers });
      ctx.body = fault.answer.size ? padding(fault.answer.size) : fault.answer.body;
      return true;
    }
    return false;
  }

  #note(ctx, at, entry) {
    entry.outcome = ctx.body?.error ?? (ctx.status < 400 ? 'ok' : `status ${ctx.status}`);
    entry.user = ctx.oidc?.account?.accountId ?? null;
    for (const name of SECRET_OUT) if (ctx.body?.[name]) this.secrets.add(ctx.body[name]);
    const code = /[?&]code=([^&]+)/.exec(ctx.response.get('location'));
    if (code) this.secrets.add(code[1]);
    if (at === 'device' && ctx.body?.user_code) {
      ctx.body = { ...ctx.body, interval: this.#settings.interval };
      this.#devices.push({ user_code: ctx.body.user_code, uri: ctx.body.verification_uri_complete });
    }
  }
}

function endpoint({ path }, body) {
  if (DISCOVERY.test(path)) return 'discovery';
  if (path === '/token') return GRANTS[body.grant_type] ?? 'other';
  if (path === '/auth') return 'authorization';
  if (path === '/device/auth') return 'device';
  if (path === '/token/revocation') return 'revocation';
  if (path === '/jwks') return 'keys';
  return 'other';
}

// Members of the answer replaced; null takes one away.
function patched(body, patch) {
  const merged = { ...body, ...patch };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

// A JSON answer that is long before it is wrong, without a length in front.
function padding(size) {
  const chunk = ' '.repeat(64 * 1024);
  return Readable.from(
    (function* () {
      yield '{"access_token":"';
      for (let sent = 0; sent < size; sent += chunk.length) yield chunk;
      yield '"}';
    })(),
  );
}
