import { createHmac } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { createListeners } from '../../../src/server/background.ts';
import type { AgentCatalog } from '../../../src/server/catalog/agent-catalog.ts';
import { mountHooks } from '../../../src/server/start-daemon.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { agentFolder } from '../../agent/run-agent.ts';
import { openStage } from '../http/stage.ts';

const WAITS = 'steps: [{ name: hold, type: wait, event: custom }]';

/** An agent of that name with one workflow. */
async function agentOf(name: string, triggers: string, more = '') {
  const folder = agentFolder('', {
    'agent.yml': `kind: Agent\nname: ${name}\nmodel: scripted:none.yml\n---\nkind: Workflow\nname: w\ntriggers: ${triggers}\n${WAITS}\n${more}`,
  });
  return loadAgent('agent.yml', { cwd: folder });
}

type Agent = Awaited<ReturnType<typeof agentOf>>;

function catalogOf(
  ...first: readonly Agent[]
): Pick<AgentCatalog, 'list' | 'onChange'> & { set(...agents: readonly Agent[]): void } {
  let agents = first;
  let told: () => void = () => undefined;
  return {
    list: () =>
      agents.map((agent) => ({
        name: agent.manifest.name,
        path: agent.path,
        source: agent.path,
        agent,
        loadedAt: 0,
        problems: [],
      })),
    onChange(changed) {
      told = changed;
      return () => {
        told = () => undefined;
      };
    },
    set(...next) {
      agents = next;
      told();
    },
  };
}

async function open(...agents: readonly Agent[]) {
  const clock = createSimulatedClock(Date.UTC(2026, 5, 1));
  const store = createMemoryStore({ clock });
  const runtime = await createRuntime({ store, clock });
  const catalog = catalogOf(...agents);
  const errors: unknown[] = [];
  const dues: string[] = [];
  const listeners = createListeners({
    runtime,
    catalog,
    onDue: (agent, trigger, { kind }) => dues.push(`${agent} ${trigger} ${kind}`),
    onError: (thrown) => errors.push(thrown),
  });
  onTestFinished(async () => {
    listeners.close();
    await runtime.close();
  });
  return { clock, store, runtime, catalog, listeners, errors, dues };
}

/** As a sender does, from the specification. */
function signed(body: string, at: number, { id = 'msg_1', secret = 's3cret' } = {}): Record<string, string> {
  const stamp = String(Math.floor(at / 1_000));
  return {
    'webhook-id': id,
    'webhook-timestamp': stamp,
    'webhook-signature': `v1,${createHmac('sha256', secret).update(`${id}.${stamp}.${body}`).digest('base64')}`,
  };
}

const hook = (name: string, more = '') => `[{ type: webhook, hook: ${name}, secret: s3cret${more} }]`;

describe('POST /hooks/NAME', () => {
  const body = '{"ref":"main"}';
  async function serve(...agents: readonly Agent[]) {
    const parts = await open(...agents);
    const stage = await openStage({ mount: mountHooks(parts.listeners) });
    const send = async (path: string, text: string, headers: Record<string, string>) => {
      const answer = await stage.ask(path, { method: 'POST', body: text, headers });
      return { status: answer.status, body: (await answer.json()) as Record<string, Record<string, string>> };
    };
    return { ...parts, stage, send };
  }

  it('answers 202 with the run, and 200 to the same again', async () => {
    const { send, clock, stage, runtime } = await serve(await agentOf('one', hook('pushed')));
    const first = await send('/hooks/pushed', body, signed(body, clock.now()));
    expect(first).toMatchObject({
      status: 202,
      body: { kind: 'started', run: expect.stringMatching(/^run_/) },
    });
    const { run } = first.body as unknown as { run: string };
    expect((await runtime.workflows.state(run)).origin.trigger?.seen).toMatchObject({
      hook: 'pushed',
      id: 'msg_1',
      body: { ref: 'main' },
    });
    expect(await send('/hooks/pushed', body, signed(body, clock.now()))).toEqual({
      status: 200,
      body: { kind: 'replayed', run },
    });
    await stage.server.drain();
    expect(await stage.deps.audit.list({ limit: 10 })).toMatchObject([
      { who: 'hook pushed', what: 'POST /hooks/pushed', about: run, status: 200 },
      { about: run, status: 202 },
    ]);
  });

  it.each([
    ['nobody listens', '/hooks/pushd', {}, 404, 'hook_unknown'],
    ['it is forged', '/hooks/pushed', { secret: 'guess' }, 401, 'bad_signature'],
    ['it is old', '/hooks/pushed', { at: -10 * 60_000 }, 400, 'hook_stale'],
    ['it is of the future', '/hooks/pushed', { at: 10 * 60_000 }, 400, 'hook_stale'],
    ['it is unsigned', '/hooks/pushed', { bare: true }, 401, 'bad_signature'],
    ['it is too long', '/hooks/pushed', { long: true }, 413, 'body_too_large'],
  ] as const)('is refused where %s, and starts nothing', async (_why, path, how, status, code) => {
    const { send, clock, store, stage } = await serve(await agentOf('one', hook('pushed')));
    const {
      at = 0,
      secret = 's3cret',
      bare,
      long,
    } = how as {
      at?: number;
      secret?: string;
      bare?: true;
      long?: true;
    };
    const text = long === true ? 'x'.repeat(1024 * 1024 + 1) : body;
    const headers = bare === true ? {} : signed(text, clock.now() + at, { secret });
    const answer = await send(path, text, headers);
    expect(answer).toMatchObject({ status, body: { error: { code, hint: expect.any(String) } } });
    expect(await store.list({})).toEqual([]);
    expect(await stage.isAlive()).toBe(true);
  });

  it('answers 409 where an id is used again for something else', async () => {
    const { send, clock } = await serve(await agentOf('one', hook('pushed')));
    await send('/hooks/pushed', body, signed(body, clock.now()));
    expect(await send('/hooks/pushed', '{}', signed('{}', clock.now()))).toMatchObject({
      status: 409,
      body: { error: { code: 'hook_replayed' } },
    });
  });

  it('takes a body of any type, down to the byte', async () => {
    const { send, clock, runtime } = await serve(await agentOf('one', hook('pushed')));
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    for (const [id, text, seen] of [
      ['form', 'payload=%7B%22a%22%3A1%7D', 'payload=%7B%22a%22%3A1%7D'],
      ['spaced', '{ "ref":   "main" }\n', { ref: 'main' }],
      ['half', '{"ref":', '{"ref":'],
      ['deep', deep, deep],
    ] as const) {
      const type = { 'content-type': 'application/x-www-form-urlencoded' };
      const answer = await send('/hooks/pushed', text, { ...signed(text, clock.now(), { id }), ...type });
      const { run } = answer.body as unknown as { run: string };
      expect((await runtime.workflows.state(run)).origin.trigger?.seen.body).toEqual(seen);
    }
  });

  it('answers 503 where two agents listen to it, so that the sender tries again', async () => {
    const [one, two] = [await agentOf('one', hook('pushed')), await agentOf('two', hook('pushed'))];
    const { send, clock, catalog, errors, listeners, store } = await serve(one, two);
    expect(await send('/hooks/pushed', body, signed(body, clock.now()))).toMatchObject({
      status: 503,
      body: { error: { code: 'hook_ambiguous', message: expect.stringContaining('one and two') } },
    });
    expect(errors).toHaveLength(1);
    expect(listeners.problems()).toMatchObject([
      { agents: ['one', 'two'], error: { code: 'hook_ambiguous' } },
    ]);
    expect(await store.list({})).toEqual([]);
    catalog.set(two);
    expect(listeners.problems()).toEqual([]);
    expect(await send('/hooks/pushed', body, signed(body, clock.now()))).toMatchObject({ status: 202 });
  });
});

describe('listening for a catalog', () => {
  const every = (ms: string) => `[{ type: schedule, every: ${ms} }]`;

  it('leaves the schedules of agents alone that did not change, and ends those of agents that are gone', async () => {
    const [one, two] = [await agentOf('one', every('10m')), await agentOf('two', every('10m'))];
    const { clock, catalog, dues } = await open(one, two);
    await clock.advance(9 * 60_000);
    catalog.set(one, await agentOf('two', every('4m')));
    await clock.advance(60_000);
    expect(dues).toEqual(['one w#0 started']);
    await clock.advance(3 * 60_000);
    expect(dues).toEqual(['one w#0 started', 'two w#0 started']);
    catalog.set(one);
    await clock.advance(7 * 60_000);
    expect(dues).toEqual(['one w#0 started', 'two w#0 started', 'one w#0 started']);
  });

  it('keeps what an agent had where the new one cannot be listened for, and says why once', async () => {
    const one = await agentOf('one', every('10m'));
    const { clock, catalog, dues, errors, listeners } = await open(one);
    const other = `---\nkind: Workflow\nname: v\ntriggers: ${hook('twice')}\n${WAITS}\n`;
    const broken = await agentOf('one', hook('twice'), other);
    catalog.set(broken);
    catalog.set(broken);
    expect(errors).toMatchObject([{ code: 'bad_manifest' }]);
    expect(listeners.problems()).toMatchObject([{ agents: ['one'], error: { code: 'bad_manifest' } }]);
    await clock.advance(10 * 60_000);
    expect(dues).toEqual(['one w#0 started']);
    catalog.set(await agentOf('one', hook('once')));
    expect(listeners.problems()).toEqual([]);
    expect(listeners.hooks()).toEqual([{ hook: 'once', agent: 'one' }]);
    listeners.close();
    await clock.advance(60 * 60_000);
    expect(dues).toHaveLength(1);
  });
});
