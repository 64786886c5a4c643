import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder, runAgent } from './run-agent.ts';

const MANIFEST = `memory: { graph: src, inject: 300 }
permissions: { paths: [.] }
import: { tools: [builtin:filesystem] }
`;
const FILES = {
  'src/tide.ts': '/** How high the water is. */\nexport function tideAt(hour: number) {\n  return hour;\n}\n',
  'src/harbour.ts':
    "import { tideAt } from './tide.ts';\n\nexport const mayEnter = (hour: number) => tideAt(hour) > 3;\n",
  'src/notes.md': '# The harbour\n\n## Its sill\n',
};
const final = (text: string) => `<response>${text}</response>`;
const internal = (id: string, name: string, parameters: JsonObject) =>
  `<action id="${id}" type="internal" mode="sync">${JSON.stringify({ name, parameters })}</action>`;
const file = (id: string, parameters: JsonObject) =>
  `<action id="${id}" mode="sync">${JSON.stringify({ name: 'filesystem', parameters })}</action>`;

/** Sessions one after the other, on one store. */
async function home(files: Readonly<Record<string, string>> = FILES, manifest = MANIFEST) {
  const folder = agentFolder(manifest, files);
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const runtime = await createRuntime({ store: `sqlite:${join(folder, 'store.db')}`, cwd: folder });
  return {
    folder,
    runtime,
    async run(input: string, ...turns: readonly string[]) {
      const model = scripted(turns);
      const session = runtime.start(agent, { input, model });
      const result = await session.result;
      const events = await runtime.events(session.id);
      const output = (id: string) =>
        events.flatMap((event) =>
          event.type === 'action.completed' && event.id === id ? [event.output] : [],
        )[0];
      return { session: session.id, result, events, prompts: model.prompts, output };
    },
  };
}

describe('an agent with a memory', () => {
  it('is shown what of the code has to do with its task, in the first turn and no other', async () => {
    const { run, runtime } = await home();
    const ran = await run(
      'How high is the tide?',
      internal('q', 'query_knowledge_graph', { query: 'tide' }),
      final('3.'),
    );
    expect(ran.result.status).toBe('completed');
    expect(ran.prompts[0]).toContain('<context_feed id="builtin:memory"');
    expect(ran.prompts[0]).toContain('tideAt');
    expect(ran.prompts[1]).not.toContain('builtin:memory');
    const shown = ran.events.find(({ type }) => type === 'feed.updated');
    expect(shown).toMatchObject({ id: 'builtin:memory', tokens: expect.any(Number) });
    expect((shown as { tokens: number }).tokens).toBeLessThanOrEqual(300);
    await runtime.close();
  });

  it('asks where a symbol is defined and who calls it, and hears file and line', async () => {
    const { run, runtime } = await home();
    const ran = await run('Go.', internal('q', 'query_knowledge_graph', { symbol: 'tideAt' }), final('Ok.'));
    expect(ran.output('q')).toMatch(
      /^\*\*tideAt\*\* function tide\.ts:2\n[\s\S]*- called by harbour\.ts:3 in /,
    );
    await runtime.close();
  });

  it.each([
    ['not named', 'permissions: { paths: [src/open] }'],
    ['denied', 'permissions: { paths: { allow: [.], deny: [src/kept] } }'],
  ])('is shown nothing of files that its permissions keep from it: %s', async (_, permissions) => {
    const files = {
      'src/open/door.ts': "import { doorKey } from '../kept/key.ts';\nexport const door = () => doorKey();\n",
      'src/kept/key.ts':
        "export const doorKey = () => {\n  return 'sk-secret';\n};\nconst doorCode = 'c-4711';\n",
    };
    const { run, runtime } = await home(files, `memory: { graph: src, inject: 300 }\n${permissions}\n`);
    const asked = [{ symbol: 'doorKey' }, { query: 'door' }, { path: 'kept/key.ts' }];
    const ran = await run(
      'What of doorKey and the door?',
      asked.map((each, at) => internal(`q${at}`, 'query_knowledge_graph', each)).join('\n'),
      final('Ok.'),
    );
    const answers = asked.map((__, at) => String(ran.output(`q${at}`)));
    expect(JSON.stringify([answers, ran.prompts])).not.toMatch(/sk-secret|c-4711|doorCode/);
    expect(answers[0]).toContain('permissions');
    expect(answers[1]).toContain('open/door.ts:2');
    expect(ran.prompts[0]).toContain('open/door.ts');
    await runtime.close();
  });

  it('asks as far, as much and as long as it says', async () => {
    const many = Array.from({ length: 40 }, (_, n) => `export const tide${n} = () => tideAt(${n});`);
    const chain = "import { tide0 } from './many.ts';\nexport const far = () => tide0();\n";
    const { run, runtime } = await home({
      ...FILES,
      'src/many.ts': `import { tideAt } from './tide.ts';\n${many.join('\n')}\n`,
      'src/far.ts': chain,
    });
    const ask = (id: string, parameters: JsonObject) => internal(id, 'query_knowledge_graph', parameters);
    const ran = await run(
      'Go.',
      ask('one', { symbol: 'tideAt' }) +
        ask('deep', { symbol: 'tideAt', depth: 2 }) +
        ask('few', { query: 'tide', limit: 2, depth: 0 }) +
        ask('short', { symbol: 'tideAt', max_tokens: 100 }) +
        ask('wrong', { symbol: 'tideAt', depth: 9 }),
      final('Ok.'),
    );
    const said = (id: string) => String(ran.output(id));
    expect(said('one')).not.toContain('far.ts');
    expect(said('deep')).toContain('far.ts');
    expect(said('few').match(/^\*\*/gm)?.length).toBeLessThanOrEqual(2);
    expect(said('short').length).toBeLessThan(said('one').length / 2);
    expect(ran.events.find(({ type }) => type === 'action.failed')).toMatchObject({
      id: 'wrong',
      error: { code: 'bad_parameters', message: expect.stringContaining('/depth') },
    });
    await runtime.close();
  });

  it('decides something else later: what is superseded is no longer told, and an unknown fact is refused', async () => {
    const { run, runtime } = await home();
    const keep = (id: string, fact: JsonObject) =>
      internal(id, 'update_knowledge_graph', { facts: [{ kind: 'decision', ...fact }] });
    const ran = await run(
      'Go.',
      keep('old', { text: 'Ships enter by day.', about: [{ path: 'harbour.ts', symbol: 'mayEnter' }] }),
      keep('new', { text: 'Ships enter by night.', supersedes: ['$old.ids[0]'] }) +
        keep('none', { text: 'Nothing.', supersedes: ['fact_0'] }),
      internal('q', 'query_knowledge_graph', { query: 'ships enter' }),
      final('Ok.'),
    );
    expect(ran.output('q')).toContain('- decision: Ships enter by night.');
    expect(ran.output('q')).not.toContain('by day');
    expect(ran.events.find(({ type }) => type === 'action.failed')).toMatchObject({
      id: 'none',
      error: { code: 'fact_unknown' },
    });
    await runtime.close();
  });

  it('keeps facts with where they come from; they are stale once their file changes, and never served as fresh', async () => {
    const { run, runtime, folder } = await home();
    const fact = { text: 'The sill is three metres deep.', about: [{ path: 'harbour.ts' }] };
    const first = await run(
      'Look.',
      internal('k', 'update_knowledge_graph', { facts: [fact] }),
      final('Kept.'),
    );
    const ask = async () => {
      const ran = await run(
        'Again.',
        internal('q', 'query_knowledge_graph', { path: 'harbour.ts' }),
        final('Ok.'),
      );
      return String(ran.output('q'))
        .split('\n')
        .find((line) => line.startsWith('- fact: '));
    };
    const fresh = await ask();
    expect(fresh).toContain(fact.text);
    expect(fresh).toContain(first.session);
    expect(fresh).not.toContain('stale');
    writeFileSync(join(folder, 'src/harbour.ts'), 'export const mayEnter = () => true;\n');
    expect(await ask()).toMatch(/The sill is three metres deep\. .*\(stale: harbour\.ts changed since\)/);
    const told = await run('How deep is the sill?', final('Unsure.'));
    expect(told.prompts[0]).toMatch(/sill[\s\S]*stale/);
    await runtime.close();
  });

  it('leaves behind which files its actions read and changed, and the graph knows the new ones', async () => {
    const { run, runtime, folder } = await home();
    const did = await run(
      'Add the moon.',
      file('r', { operation: 'read', path: 'src/tide.ts' }),
      file('w', { operation: 'write', path: 'src/moon.ts', content: 'export const phase = 1;\n' }),
      final('Added.'),
    );
    const memory = await runtime.memory(join(folder, 'src'));
    const of = async (path: string) =>
      (await memory.query({ path })).nodes.filter(({ kind }) => kind === 'session');
    expect(await of('tide.ts')).toMatchObject([{ session: did.session, title: 'Add the moon.' }]);
    expect(await of('moon.ts')).toMatchObject([{ session: did.session }]);
    expect(await of('harbour.ts')).toEqual([]);
    expect((await memory.query({ symbol: 'phase' })).nodes[0]).toMatchObject({ at: 'moon.ts:1' });
    await runtime.close();
  });

  it('that is led leaves it behind after each step: the next one can ask', async () => {
    const ran = await runAgent({
      manifest: `${MANIFEST.replace('tools: [builtin:filesystem]', 'tools: [builtin:filesystem], workflows: [./flow.yml]')}workflow: lead\n`,
      files: {
        ...FILES,
        'flow.yml':
          'kind: Workflow\nname: lead\nsteps:\n  - { name: one, type: task, prompt: Read. }\n  - { name: two, type: task, prompt: Ask. }\n',
      },
      turns: [
        file('r', { operation: 'read', path: 'src/tide.ts' }) +
          internal('c1', 'complete_step', {
            notes: 'Read the file about the tide from its first line to its last.',
          }),
        internal('q', 'query_knowledge_graph', { path: 'tide.ts' }),
        internal('c2', 'complete_step', {
          notes: 'Asked the graph who had read the file, and saw that it was me.',
        }),
      ],
    });
    expect(ran.result.status).toBe('completed');
    expect(ran.of('action.completed').find(({ id }) => id === 'q')?.output).toContain('- session ');
  });

  it('has its first turn without it where the manifest switches it off', async () => {
    const { run, runtime } = await home(
      FILES,
      `${MANIFEST}context_feeds: [{ id: "builtin:memory", enabled: false }]\n`,
    );
    const ran = await run('How high is the tide?', final('3.'));
    expect(ran.prompts[0]).not.toContain('builtin:memory');
    await runtime.close();
  });

  it('whose folder is not there goes on without it, and the log says why', async () => {
    const ran = await runAgent({
      manifest: 'memory: { graph: nowhere, inject: 100 }\n',
      turns: [internal('q', 'query_knowledge_graph', { query: 'x' }), final('Ok.')],
    });
    expect(ran.result.status).toBe('completed');
    expect(ran.of('action.failed')[0]?.error.message).toContain('nowhere');
    expect(ran.of('audit').some(({ what }) => what.includes('nowhere'))).toBe(true);
  });

  it.each([
    ['no way to ask', {}],
    ['two ways', { query: 'x', symbol: 'y' }],
  ])('is told that it gave %s', async (_, parameters) => {
    const ran = await runAgent({
      manifest: MANIFEST,
      files: FILES,
      turns: [internal('q', 'query_knowledge_graph', parameters), final('Ok.')],
    });
    expect(ran.of('action.failed')[0]?.error).toMatchObject({ code: 'bad_parameters' });
  });

  it('that has none is not offered the actions, and is told so', async () => {
    const ran = await runAgent({
      turns: [internal('q', 'query_knowledge_graph', { query: 'x' }), final('Ok.')],
    });
    expect(ran.of('action.failed')[0]?.error).toMatchObject({
      code: 'not_permitted',
      hint: expect.stringContaining('memory'),
    });
  });
});
