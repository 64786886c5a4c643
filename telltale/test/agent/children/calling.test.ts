import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createAgentFamily } from '../../../src/agent/children/agent-target.ts';
import { MAX_DEPTH } from '../../../src/agent/children/child-session.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { fold } from '../../../src/log/reduce.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { agentFolder, runAgent, tool } from '../run-agent.ts';
import { call, runTeam, speaking } from './run-team.ts';

const echo = { turns: ['<thought>Hm.</thought>So. <response>Done by echo.</response>'] };
const asked = `${call('a1', 'echo')}<response>$a1</response>`;

describe('an action of type agent', () => {
  it('runs a session of its own, whose final response is the result', async () => {
    const ran = await runTeam({ echo }, { turns: [asked] });
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Done by echo.' });
    expect(ran.childOf('a1', 'session.started')).toMatchObject([
      {
        agent: 'echo',
        input: 'For a1.',
        parent: { session: ran.result.session, action: 'a1', agents: ['tester'] },
      },
    ]);
    expect(ran.childOf('a1', 'session.completed')).toMatchObject([{ result: 'Done by echo.' }]);
  });

  it('has its start as the cause of the first event, and copies lead back to their originals', async () => {
    const ran = await runTeam({ echo }, { turns: [asked] });
    const [started] = ran.of('action.started');
    const [first] = ran.child('a1');
    expect(first?.cause).toEqual({
      stream: ran.result.session,
      seq: started?.seq,
      depth: (started?.cause.depth ?? 0) + 1,
    });
    const [original] = ran.childOf('a1', 'response');
    const [copy] = ran.of('child.response');
    expect(copy?.cause).toEqual({
      stream: original?.session,
      seq: original?.seq,
      depth: (original?.cause.depth ?? 0) + 1,
    });
  });

  it('gives a value where the agent declares an output schema', async () => {
    const manifest =
      'output: { schema: { type: object, required: [sum], properties: { sum: { type: number } } } }\n';
    const ran = await runTeam(
      { adder: { manifest, turns: ['<response>{"sum": 3}</response>'] } },
      { turns: [`${call('a1', 'adder')}<response>It is $a1.sum.</response>`] },
    );
    expect(ran.of('action.completed')).toMatchObject([{ id: 'a1', output: { sum: 3 } }]);
    expect(ran.result.result).toBe('It is 3.');
  });

  it('is told to the model with the description of the agent', async () => {
    const systems: string[] = [];
    const scripted = createScriptedModel({ turns: ['<response>Ok.</response>'] });
    await runTeam(
      { echo: { ...echo, manifest: 'description: Says what it is told\n' } },
      {
        turns: [],
        model: {
          ...scripted,
          stream(request, sink) {
            systems.push(request.system);
            return scripted.stream(request, sink);
          },
        },
      },
    );
    expect(systems[0]).toContain('# Agents: <action type="agent" …>');
    expect(systems[0]).toMatch(/^- "echo" \{input .*\}: Says what it is told$/m);
  });

  it('may name an agent beside it in its own file, but not itself', async () => {
    const beside = '---\nkind: Agent\nname: neighbor\nmodel: scripted:./neighbor.json\n';
    const ran = await runAgent({
      manifest: beside,
      files: { 'neighbor.json': JSON.stringify({ turns: ['<response>Hello over the fence.</response>'] }) },
      turns: [
        `${call('a1', 'neighbor')}${call('a2', 'tester')}<response final="false">$a1</response>`,
        '<response>Ok.</response>',
      ],
    });
    expect(ran.of('response')[0]).toMatchObject({ text: 'Hello over the fence.' });
    expect(ran.of('action.failed')).toMatchObject([{ id: 'a2', error: { code: 'target_unknown' } }]);
  });

  it('may name itself where an action template does, if need be by the one that it builds on', async () => {
    const offered = async (templates: string) => {
      const model = speaking(({ system }) => `<response>${system.includes('- "tester" {')}</response>`);
      const ran = await runAgent({ manifest: `action_templates: ${templates}\n`, turns: [], model });
      return ran.result.result;
    };
    expect(await offered('{ own: { type: agent, name: tester } }')).toBe('true');
    expect(await offered('{ own: { template: base, name: tester }, base: { type: agent } }')).toBe('true');
    expect(await offered('{ other: { type: agent } }')).toBe('false');
  });

  it('without text as its input is refused, and so is what the agent has not', async () => {
    const manifest =
      'context_variables: { runtime: [{ name: tone, type: string }, { name: key, writers: [user] }] }\n';
    const parameters = (value: object) => ({ parameters: value });
    const ran = await runTeam(
      { echo: { ...echo, manifest } },
      {
        turns: [
          call('a1', 'echo', parameters({})),
          call('a2', 'echo', parameters({ input: 'x', vars: { key: 'stolen' } })),
          call('a3', 'echo', parameters({ input: 'x', vars: { tone: 'kind' } })),
          '<response>Ok.</response>',
        ],
      },
    );
    expect(ran.of('action.failed').map(({ id, error }) => [id, error.code])).toEqual([
      ['a1', 'bad_parameters'],
      ['a2', 'bad_parameters'],
    ]);
    expect(ran.childOf('a3', 'session.started')).toMatchObject([{ vars: { tone: 'kind' } }]);
    expect(ran.child('a2')).toEqual([]);
  });

  it('runs in the folder of its own manifest, with tools of its own', async () => {
    const files = Object.fromEntries(
      Object.entries(
        tool(
          'where',
          'return { folder: context.agent.workspace_path, parent: context.agent.parent ?? null };',
        ),
      ).map(([name, text]) => [`team/${name}`, text]),
    );
    const ran = await runTeam(
      {
        scout: {
          manifest: 'import: { tools: [./tools/*.yml] }\n',
          turns: ['<action id="w">{"name":"where"}</action><response>$w</response>'],
        },
      },
      { files, turns: [`${call('a1', 'scout')}<response>$a1</response>`] },
    );
    expect(JSON.parse(String(ran.result.result))).toEqual({ folder: join(ran.folder, 'team'), parent: null });
  });

  it('runs on the model of its caller where the agent names none, prompts included', async () => {
    const model = speaking(({ system, messages }) => {
      if (system.startsWith('You summarize')) return 'short';
      if (!messages.at(-1)?.text.includes('called you'))
        return `${call('a1', 'guest')}<response>$a1</response>`;
      return '<action type="llm" id="s">{"name":"summarize","parameters":{"text":"long"}}</action><response>A guest: $s.</response>';
    });
    const ran = await runTeam({ guest: {} }, { turns: [], model });
    expect(ran.result.result).toBe('A guest: short.');
    expect(ran.childOf('a1', 'session.started')).toMatchObject([{ model: 'scripted:speaking' }]);
  });

  it('that fails for what its agent asks for says so', async () => {
    const ran = await runTeam(
      {
        odd: { ...echo, manifest: 'import: { tools: [{ mcp: { name: far, command: no-such-program } }] }\n' },
      },
      { turns: [call('a1', 'odd'), '<response>Ok.</response>'] },
    );
    expect(ran.of('action.failed')).toMatchObject([{ id: 'a1', error: { code: 'command_missing' } }]);
  });

  it('that is tried again is another session each time', async () => {
    const flaky = {
      turns: ['<action id="t">{"name":"none"}</action>', '<action id="u">{"name":"none"}</action>'],
      manifest: 'limits: { turns: 1 }\n',
    };
    const ran = await runTeam(
      { flaky },
      {
        runtime: { random: () => 0 },
        turns: [call('a1', 'flaky', { retry: 1 }, 'sync'), '<response>Ok.</response>'],
      },
    );
    expect(ran.of('action.retrying')).toMatchObject([{ id: 'a1', error: { code: 'limit_turns' } }]);
    expect(ran.of('action.failed')).toMatchObject([
      { id: 'a1', attempts: 2, error: { code: 'limit_turns' } },
    ]);
    // Also after a restart: which try it is stands on the log.
    const retried = ran.types.indexOf('action.retrying') + 1;
    expect(fold(ran.events.slice(0, retried)).children).toEqual([
      { action: 'a1', tries: 1, session: '', seq: 0 },
    ]);
    expect(ran.childOf('a1', 'session.failed')).toHaveLength(1);
    expect(ran.childOf('a1~2', 'session.failed')).toHaveLength(1);
    expect(new Set(ran.of('child.turn.completed').map(({ child }) => child.session)).size).toBe(2);
  });
});

describe("a sub-agent's session", () => {
  it('is not resumed by itself, but may be branched off', async () => {
    await runTeam(
      { echo },
      {
        turns: [asked],
        async after(session, runtime) {
          const child = `${session}.a1`;
          await expect(runtime.resume(child)).rejects.toMatchObject({
            code: 'session_has_parent',
            hint: expect.stringContaining(`telltale resume ${session}.`),
          });
          const fork = await runtime.fork(child, 2, { id: 'branch' });
          const [first] = await runtime.events(fork);
          expect(first).toMatchObject({ forked: { session: child, seq: 2 } });
          expect(first).not.toHaveProperty('parent');
          const { result } = await runtime.resume(fork);
          expect(await result).toMatchObject({ status: 'completed', result: 'Done by echo.' });
          expect(await runtime.store.info(child)).toMatchObject({ parent: session, status: 'completed' });
        },
      },
    );
  });

  it('is begun anew for a branch of its caller', async () => {
    await runTeam(
      { echo },
      {
        turns: [asked],
        async after(session, runtime) {
          const log = await runtime.events(session);
          const copied = log.find(({ type }) => type === 'child.text');
          await runtime.fork(session, copied?.seq ?? 0, { id: 'branch' });
          const model = createScriptedModel({ turns: [asked, asked] });
          const { result } = await runtime.resume('branch', { model });
          expect(await result).toMatchObject({ status: 'completed', result: 'Done by echo.' });
          expect(await runtime.events('branch.a1')).toMatchObject([
            { type: 'session.started' },
            ...Array(8).fill({}),
          ]);
          const again = (await runtime.events('branch')).filter(({ type }) => type === 'child.response');
          expect(again).toMatchObject([{ child: { session: 'branch.a1' } }]);
        },
      },
    );
  });

  it('does not take a session for its own that somebody else began under its id', async () => {
    const { of } = await runTeam(
      { echo },
      {
        turns: [call('a1', 'echo'), '<response>Ok.</response>'],
        start: { id: 'lead' },
        runtime: { store: await withStranger('lead.a1') },
      },
    );
    expect(of('action.failed')).toMatchObject([
      { id: 'a1', error: { code: 'agent_id_taken', message: expect.stringContaining('lead.a1') } },
    ]);
    expect(of('child.response')).toEqual([]);
  });

  it('has a name that no other action has, however long its id is', async () => {
    const id = 'x'.repeat(2_000);
    const ran = await runTeam(
      { echo },
      {
        turns: [`${call(id, 'echo')}${call(`${id}x`, 'echo')}<response>Ok.</response>`],
        async after(_, runtime) {
          expect(await runtime.store.list()).toHaveLength(3);
        },
      },
    );
    expect(ran.of('action.completed')).toHaveLength(2);
  });
});

/** A store in which a session of another agent has completed. */
async function withStranger(id: string): Promise<Store> {
  const store = createMemoryStore({ clock: createSystemClock() });
  await runAgent({
    turns: ['<response>A secret.</response>'],
    start: { id },
    runtime: { store: { ...store, close: async () => undefined } },
  });
  return store;
}

describe('agents that may call each other', () => {
  const files = {
    'agent.yml': 'kind: Agent\nname: tester\nimport: { agents: [./b.yml] }\n',
    'b.yml': 'kind: Agent\nname: b\nimport: { agents: [./agent.yml] }\n',
  };

  it('are loaded once each, and pinned to what loading them alone would read', async () => {
    const folder = agentFolder('', {
      ...files,
      'c.yml': 'kind: Agent\nname: c\nimport: { agents: [./b.yml, ./d.yml] }\n',
      'd.yml': 'kind: Agent\nname: d\n',
    });
    const family = createAgentFamily();
    const agent = await loadAgent('c.yml', { cwd: folder });
    const [b, d] = family.callableBy(agent);
    expect([b?.manifest.name, d?.manifest.name]).toEqual(['b', 'd']);
    expect(b).toMatchObject({
      folder,
      path: join(folder, 'b.yml'),
      hash: (await loadAgent('b.yml', { cwd: folder })).hash,
    });
    expect(d?.hash).not.toBe(agent.hash);
    const [tester] = b === undefined ? [] : family.callableBy(b);
    expect(tester === undefined ? undefined : family.callableBy(tester)[0]).toBe(b);
  });

  it('do so as deep as they may', async () => {
    const model = speaking(({ messages }) => {
      const level = Number(/level (\d)/.exec(messages[0]?.text ?? '')?.[1]);
      if (level === MAX_DEPTH) return '<response>Bottom.</response>';
      const next = level % 2 === 0 ? 'b' : 'tester';
      return `${call('n', next, { parameters: { input: `level ${level + 1}` } })}<response>$n</response>`;
    });
    const ran = await runAgent({ files, turns: [], model, start: { input: 'level 0' } });
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Bottom.' });
  });
});
