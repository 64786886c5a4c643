import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { eventually } from '../store/eventually.ts';
import { agentFolder, type RunOptions, runAgent, tool } from './run-agent.ts';

const TOOLS = 'import: { tools: [./tools/*.yml] }\n';
const final = (text: string) => `<response>${text}</response>`;
const WAIT = '<action id="w" mode="sync">{"name":"step"}</action>';

const internal = (id: string, name: string, parameters: JsonObject) =>
  `<action id="${id}" type="internal" mode="sync">${JSON.stringify({ name, parameters })}</action>`;

/** A tool that gives what stands in a file, and counts its calls in another. */
const source = (name: string, extra = 'idempotent: true\n') =>
  tool(
    name,
    `const { readFileSync, appendFileSync } = await import('node:fs');
     appendFileSync(new URL('../${name}.calls', import.meta.url), '.');
     return JSON.parse(readFileSync(new URL('../${name}.json', import.meta.url), 'utf8'));`,
    extra,
  );

/** Puts the next value there: what happens between two turns. */
const stepTool = (to: string, values: readonly unknown[]) =>
  tool(
    'step',
    `const { writeFileSync } = await import('node:fs');
     globalThis.__${to} = (globalThis.__${to} ?? 0) + 1;
     writeFileSync(new URL('../${to}.json', import.meta.url), JSON.stringify(${JSON.stringify(values)}[globalThis.__${to} - 1]));
     return 'ok';`,
    'idempotent: true\n',
  );

const calls = (folder: string, name: string) =>
  existsSync(join(folder, `${name}.calls`)) ? readFileSync(join(folder, `${name}.calls`), 'utf8').length : 0;

/** Shown from a second on: a busy machine may take that long. */
const AGE = / age="\d+s"/;

const prefixes = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'turn.started' ? [event.prompt.reused_prefix] : []));

describe('feeds in a session', () => {
  it('are shown when they change, cost nothing while they do not, and leave the prompt before them alone', async () => {
    const ran = await runAgent({
      manifest: `${TOOLS}limits: { feed_deadline: 20s }\ncontext_feeds: [{ id: tide, source: { type: tool, name: tide } }]\n`,
      files: {
        ...source('tide'),
        'tide.json': '{"height":1}',
        ...stepTool('tide', [{ height: 1 }, { height: 2 }]),
      },
      turns: [WAIT, WAIT.replace('"w"', '"v"'), final('Done.')],
    });
    expect(ran.result.status).toBe('completed');
    const shown = ran.prompts.map((prompt) =>
      /<context_feed[\s\S]*<\/context_feed>/.exec(prompt)?.[0].replace(AGE, ''),
    );
    expect(shown).toEqual([
      '<context_feed id="tide">\n{\n  "height": 1\n}\n</context_feed>',
      undefined,
      '<context_feed id="tide">\n{\n  "height": 2\n}\n</context_feed>',
    ]);
    expect(ran.prompts[2]?.trimEnd().endsWith('</context_feed>')).toBe(true);
    expect(prefixes(ran.events)).toEqual([1, 1, 1]);
    expect(ran.of('feed.updated')).toMatchObject([
      { id: 'tide', value: { height: 1 }, tokens: 9 },
      { id: 'tide', value: { height: 2 }, tokens: 9 },
    ]);
  });

  it('are named in parameters and responses; one by reference is loaded where it is named, and nowhere else', async () => {
    const options: RunOptions = {
      manifest: `${TOOLS}context_feeds:
  - { id: tide, source: { type: tool, name: tide } }
  - { id: depth, inject: reference, source: { type: tool, name: depth } }
  - { id: unused, inject: reference, source: { type: tool, name: unused } }
`,
      files: {
        ...source('tide'),
        ...source('depth'),
        ...source('unused'),
        ...tool('echo', 'return input;', 'idempotent: true\n'),
        'tide.json': '{"height":3}',
        'depth.json': '{"metres":7}',
      },
      turns: [
        '<action id="a" mode="sync">{"name":"echo","parameters":{"all":"$tide","part":"$tide.height","text":"at {{tide.height}}, $tide","deep":"$depth.metres"}}</action>',
        final('Now $depth.metres m, at $tide.height.'),
      ],
    };
    const ran = await runAgent(options);
    expect(ran.of('action.completed')[0]?.output).toEqual({
      all: { height: 3 },
      part: 3,
      deep: 7,
      text: 'at {{tide.height}}, $tide',
    });
    expect(ran.result.result).toBe('Now 7 m, at 3.');
    expect(ran.prompts.join('\n')).not.toContain('id="depth"');
    expect(calls(ran.folder, 'depth')).toBe(2);
    expect(calls(ran.folder, 'unused')).toBe(0);
  });

  it('that hang hold a turn no longer than the deadline, and are told of once', async () => {
    const ran = await runAgent({
      manifest: `${TOOLS}limits: { feed_deadline: 0.05 }
context_feeds:
  - { id: slow, source: { type: tool, name: slow } }
  - { id: never, type: periodic, interval: 60, source: { type: tool, name: slow } }
`,
      files: {
        ...tool(
          'slow',
          `await new Promise((resolve, reject) => context.signal.addEventListener('abort', () => {
             globalThis.__aborted = (globalThis.__aborted ?? 0) + 1;
             reject(new Error('stopped'));
           }));`,
          'idempotent: true\n',
        ),
        ...tool('step', `return 'ok';`),
      },
      turns: [WAIT, WAIT.replace('"w"', '"v"'), final('Without it.')],
    });
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Without it.' });
    expect(ran.prompts[0]).toContain('<context_feed id="slow" status="late">');
    expect(ran.prompts[1]).not.toContain('context_feed');
    expect((globalThis as unknown as { __aborted: number }).__aborted).toBe(2);
  });

  it('whose source fails leave the run alone: what stood there is stale, then fresh again', async () => {
    const ran = await runAgent({
      manifest: `${TOOLS}context_feeds: [{ id: tide, source: { type: tool, name: tide } }]\n`,
      files: {
        ...tool(
          'tide',
          `globalThis.__n = (globalThis.__n ?? 0) + 1; if (globalThis.__n === 2) throw new Error('no gauge'); return 'low';`,
          'idempotent: true\n',
        ),
        ...tool('step', `return 'ok';`),
      },
      turns: [WAIT, internal('r', 'read_context_feed', { id: 'tide', refresh: true }), final('Ok.')],
    });
    expect(ran.result.status).toBe('completed');
    expect(ran.prompts[1]).toContain('<context_feed id="tide" status="stale"');
    expect(ran.prompts[1]).toContain('no gauge');
    expect(ran.prompts[2]).toContain('<context_feed id="tide">\nlow\n</context_feed>');
    expect(ran.of('feed.failed')).toHaveLength(1);
  });

  it('that cannot be had leave a gap in a response, which says why, and what names them otherwise does not start', async () => {
    const ran = await runAgent({
      manifest: `${TOOLS}context_feeds:
  - { id: shown, source: { type: file, name: gone.txt } }
  - { id: named, inject: reference, source: { type: file, name: away.txt } }
`,
      files: tool('step', `return 'ok';`),
      turns: [
        '<action id="a">{"name":"step","parameters":{"of":"$named"}}</action>',
        final('First $shown, then $named and $named.part, at last $shown.'),
      ],
    });
    expect(ran.result.status).toBe('completed');
    const said = String(ran.result.result);
    expect(said).toMatch(
      /^First \[unavailable: shown: .*gone\.txt.*\], at last \[unavailable: shown: .*\]\.$/,
    );
    expect(said.match(/\[unavailable: named: [^\]]*away\.txt/g)).toHaveLength(2);
    expect(ran.of('action.skipped')).toMatchObject([
      { id: 'a', reason: 'dependency', because: 'feed:named' },
    ]);
    expect(ran.prompts[1]).toContain('away.txt');
  });

  it('come from workflows and from models, whose use counts', async () => {
    const ran = await runAgent({
      manifest: `${TOOLS}models: { fast: "scripted:fast.yml" }
context_feeds:
  - { id: docs, source: { type: workflow, name: gather, params: { word: sea } } }
  - { id: gist, source: { type: llm, name: summarize, params: { prompt: What is it?, context: $docs, model: fast } } }
`.replace('tools: [./tools/*.yml]', 'tools: [./tools/*.yml], workflows: [./flow.yml]'),
      files: {
        'flow.yml':
          'kind: Workflow\nname: gather\ninput: { type: object, properties: { word: { type: string } } }\nsteps: [{ name: one, type: tool, target: echo, parameters: { text: "all about the ${input.word}" } }]\n',
        ...tool('echo', 'return input.text;', 'idempotent: true\n'),
        'fast.yml': 'turns: [{ text: It is wet., expect: [{ contains: all about the sea }] }]\n',
      },
      turns: [final('$gist')],
    });
    expect(ran.result.result).toBe('It is wet.');
    expect(ran.prompts[0]).toContain('<context_feed id="docs">\nall about the sea\n</context_feed>');
    const used = ran.of('custom').find(({ name }) => name === 'llm.usage');
    expect(used?.data).toMatchObject({ feed: 'gist' });
    expect(ran.result.usage.output).toBeGreaterThan(0);
  });

  it('that ask a model ask it no longer once the session has spent what it may, within a turn, too', async () => {
    const read = (id: string) => internal(id, 'read_context_feed', { id: 'gist', refresh: true });
    const ran = await runAgent({
      manifest: `models: { fast: "scripted:fast.yml" }
limits: { tokens: 1 }
context_feeds: [{ id: gist, inject: reference, source: { type: llm, name: summarize, params: { text: x, model: fast } } }]
`,
      files: { 'fast.yml': 'turns: [{ text: It is wet. }]\n' },
      turns: [read('a') + read('b') + read('c'), final('Ok.')],
    });
    expect(ran.of('custom')).toHaveLength(1);
    expect(ran.of('action.failed').map(({ error }) => error.code)).toEqual(['limit_tokens', 'limit_tokens']);
  });

  it('leave room in a small context window, with each turn and behind a summary', async () => {
    const window = 16_000;
    const turns = Array.from({ length: 12 }, (_, at) => WAIT.replace('"w"', `"w${at}"`));
    const script = scripted([...turns, final('Done.')]);
    const ids = Array.from({ length: 12 }, (_, at) => `page${at}`);
    const ran = await runAgent({
      manifest: `${TOOLS}context_feeds:\n${ids
        .map(
          (id) => `  - { id: ${id}, max_tokens: 1900, cache_ttl: 1h, source: { type: tool, name: page } }\n`,
        )
        .join('')}`,
      files: {
        ...tool('page', `return 'A line of a page.\\n'.repeat(2000);`, 'idempotent: true\n'),
        ...tool('step', `return 'ok';`, 'idempotent: true\n'),
      },
      turns: [],
      model: { ...script, contextWindow: window },
    });
    expect(ran.result.status).toBe('completed');
    expect(ran.of('prompt.compacted').length).toBeGreaterThan(0);
    for (const { prompt } of ran.of('turn.started')) expect(prompt.tokens).toBeLessThan(window);
    expect(ran.prompts[0]).toContain('no room');
    const shown = new Set(ran.of('feed.updated').flatMap(({ id, told }) => (told === true ? [id] : [])));
    // Those that come first in the manifest; each of the others says once that there is no room.
    expect(shown.size).toBeGreaterThan(3);
    const without = ran.of('feed.failed').map(({ id }) => id);
    for (const id of ids) if (!shown.has(id)) expect(without.filter((other) => other === id)).toEqual([id]);
  });
});

describe('the parts of the prompt that are the runtime’s own', () => {
  it('are left out where the manifest says so, as long as its test holds', async () => {
    const ran = await runAgent({
      manifest: `metadata: { fields: { status: { values: [OPEN, CLOSED], default: OPEN } } }
import: { tools: [./tools/*.yml] }
context_feeds: [{ id: "builtin:results", enabled: "metadata.status == 'OPEN'" }]
`,
      files: tool('step', `return 'the result';`),
      turns: [
        WAIT,
        `<metadata>{"status":"CLOSED"}</metadata>${WAIT.replace('"w"', '"v"')}`,
        `<metadata>{"status":"OPEN"}</metadata>${WAIT.replace('"w"', '"x"')}`,
        final('Ok.'),
      ],
    });
    expect(ran.prompts.map((prompt) => prompt.includes('the result'))).toEqual([false, true, false, true]);
    expect(prefixes(ran.events)).toEqual([1, 1, 1, 1]);
  });
});

describe('one part of the prompt', () => {
  const run = (part: string) =>
    runAgent({
      manifest: `metadata: { fields: { status: { values: [OPEN, CLOSED], default: OPEN } } }
import: { tools: [./tools/*.yml] }
context_feeds: [${part}]
`,
      files: tool('step', `return 'a line of the result\\n'.repeat(200);`),
      turns: [`<metadata>{"status":"CLOSED"}</metadata>${WAIT}`, final('Ok.')],
    });

  it('is left out without the others: metadata', async () => {
    const [whole, without] = [await run(''), await run('{ id: "builtin:metadata", enabled: false }')];
    expect(whole.prompts[1]).toMatch(/- status: "CLOSED"/);
    expect(without.prompts[1]).not.toMatch(/- status: "CLOSED"/);
    expect(without.prompts[1]).toContain('a line of the result');
  });

  it('is cut at a line to its max_tokens: results', async () => {
    const [whole, cut] = [await run(''), await run('{ id: "builtin:results", max_tokens: 100 }')];
    const lines = (prompt = '') => prompt.match(/a line of the result/g)?.length ?? 0;
    expect(lines(cut.prompts[1])).toBeGreaterThan(0);
    expect(lines(cut.prompts[1])).toBeLessThan(lines(whole.prompts[1]) / 2);
  });
});

describe('a periodic feed', () => {
  it('is loaded no more once its session is let go of, though it could be resumed', async () => {
    const loaded: string[] = [];
    (globalThis as unknown as { __loaded: string[] }).__loaded = loaded;
    let atEnd = 0;
    const ran = await runAgent({
      manifest: `${TOOLS}context_feeds: [{ id: tick, type: periodic, interval: 100ms, source: { type: tool, name: tick } }]\n`,
      files: {
        ...tool('tick', `globalThis.__loaded.push('.'); return 1;`, 'idempotent: true\n'),
        ...tool('step', `await new Promise((_, no) => context.signal.addEventListener('abort', no));`),
      },
      turns: [WAIT],
      during: async (session) => {
        await eventually(async () => expect(loaded.length).toBeGreaterThan(1));
        await session.interrupt();
      },
      after: async () => {
        atEnd = loaded.length;
        // More than two intervals: one that went on would have been loaded by then.
        await new Promise((resolve) => setTimeout(resolve, 250));
      },
    });
    expect(ran.result.status).toBe('interrupted');
    expect(loaded).toHaveLength(atEnd);
  });
});

describe('a model that has feeds of its own', () => {
  const MANIFEST = `import: { tools: [./tools/*.yml], workflows: [./ship.yml] }
metadata: { fields: { status: { type: string } } }
context_feeds: [{ id: clock, source: { type: internal, action: system_clock }, inject: reference }]
`;
  const FILES = {
    'ship.yml': 'kind: Workflow\nname: ship\nsteps: [{ name: one, type: tool, target: deploy }]\n',
    ...source('tide'),
    ...source('deploy', ''),
    'tide.json': '"low"',
    ...tool('step', `return 'ok';`, 'idempotent: true\n'),
  };
  const add = (id: string, feed: JsonObject) => internal(id, 'add_context_feed', feed);
  const TIDE = { id: 'tide', source: { type: 'tool', name: 'tide' } };

  it('adds, changes, lists and removes them, and sees what it added in the next turn', async () => {
    const ran = await runAgent({
      manifest: MANIFEST,
      files: FILES,
      turns: [
        add('a', TIDE),
        internal('u', 'update_context_feed', { id: 'tide', transform: [{ template: 'Tide: {value}' }] }),
        internal('r', 'remove_context_feed', { id: 'tide' }) + internal('l', 'list_context_feeds', {}),
        final('Ok.'),
      ],
    });
    expect(ran.result.status).toBe('completed');
    expect(ran.prompts[1]).toContain('<context_feed id="tide">\nlow\n</context_feed>');
    expect(ran.prompts[2]).toContain('<context_feed id="tide">\nTide: low\n</context_feed>');
    expect(ran.of('action.completed').find(({ id }) => id === 'l')?.output).toMatchObject({
      feeds: [{ id: 'clock', source: 'internal system_clock' }],
    });
    const turns = ran.of('turn.started').map(({ seq }) => seq);
    expect(ran.of('feed.added').map(({ cause }) => cause.seq)).toEqual([turns[0], turns[1]]);
    expect(ran.of('feed.removed').map(({ cause }) => cause.seq)).toEqual([turns[2]]);
  });

  it('may use only what it could call anyway and call again, under a name that is free', async () => {
    const refused: readonly (readonly [JsonObject, string])[] = [
      [{ id: 'x', source: { type: 'tool', name: 'deploy' } }, 'not_permitted'],
      [{ id: 'x', source: { type: 'tool', name: 'nope' } }, 'target_unknown'],
      [{ id: 'x', source: { type: 'workflow', name: 'ship' } }, 'not_permitted'],
      [
        {
          id: 'x',
          source: { type: 'llm', name: 'summarize', params: { text: 't', model: 'scripted:/etc/passwd' } },
        },
        'bad_parameters',
      ],
      [{ id: 'x', source: { type: 'http', name: 'http://10.0.0.1/' } }, 'not_permitted'],
      [{ id: 'x', source: { type: 'file', name: '/etc/passwd' } }, 'not_permitted'],
      [
        { id: 'x', source: { type: 'internal', action: 'env', params: { names: ['HOME'] } } },
        'not_permitted',
      ],
      [{ ...TIDE, type: 'periodic', interval: 0.1 }, 'bad_parameters'],
      [{ ...TIDE, id: 'clock' }, 'feed_exists'],
      [{ ...TIDE, id: 'status' }, 'feed_exists'],
      [{ ...TIDE, id: 'builtin:results' }, 'bad_feed'],
      [{ ...TIDE, type: 'periodic' }, 'bad_feed'],
      [{ ...TIDE, refs: ['gone'] }, 'feed_unknown'],
      [{ ...TIDE, transform: [{ cel: '1 +' }] }, 'bad_feed'],
    ];
    const ran = await runAgent({
      manifest: MANIFEST,
      files: FILES,
      turns: [refused.map(([feed], at) => add(`a${at}`, feed)).join('\n'), final('None.')],
    });
    expect(ran.of('action.failed').map(({ error }) => error.code)).toEqual(refused.map(([, code]) => code));
    expect(ran.of('feed.added')).toEqual([]);
    expect(calls(ran.folder, 'deploy')).toBe(0);
  });

  it('neither sees what the manifest keeps in a source, nor sends it elsewhere, nor leaves it on the log', async () => {
    const source = `{ type: http, name: "http://127.0.0.1:1/a?key=KEY-1", params: { headers: { Authorization: KEY-2 } } }`;
    const ran = await runAgent({
      manifest: `permissions: { network: ["127.0.0.1:1", "localhost:1"] }
context_feeds: [{ id: api, cache_ttl: 60, source: ${source} }]
`,
      turns: [
        [
          internal('u', 'update_context_feed', { id: 'api', max_tokens: 10 }),
          internal('l', 'list_context_feeds', {}),
          internal('p', 'update_context_feed', { id: 'api', source: { name: 'http://localhost:1/' } }),
          internal('w', 'update_context_feed', {
            id: 'api',
            source: { type: 'http', name: 'http://localhost:1/' },
          }),
        ].join(''),
        final('Ok.'),
      ],
    });
    expect(ran.of('action.completed').map(({ id }) => id)).toEqual(['u', 'l', 'w']);
    expect(ran.of('action.completed')[0]?.output).toMatchObject({ feed: { max_tokens: 10, cache_ttl: 60 } });
    expect(ran.of('action.completed')[1]?.output).toMatchObject({
      feeds: [{ source: 'http "http://127.0.0.1:1/a?…"', by: 'model' }],
    });
    expect(ran.of('action.failed')[0]?.error).toMatchObject({ code: 'bad_feed' });
    expect(JSON.stringify(ran.events)).not.toContain('KEY-');
    expect(ran.prompts.join('\n')).not.toContain('KEY-');
  });

  it('does not change by a feed of its own what one of the manifest calls', async () => {
    const ran = await runAgent({
      manifest: `${TOOLS}context_feeds:
  - { id: which, source: { type: internal, action: random, params: { choices: [staging] } } }
  - { id: deployed, on_error: show, source: { type: tool, name: deploy, params: { to: $which } } }
`,
      files: { ...FILES, 'deploy.json': '"done"' },
      turns: [
        internal('u', 'update_context_feed', {
          id: 'which',
          source: { type: 'internal', action: 'random', params: { choices: ['production'] } },
        }),
        final('Ok.'),
      ],
    });
    expect(ran.of('action.completed')).toHaveLength(1);
    expect(calls(ran.folder, 'deploy')).toBe(1);
    expect(ran.of('feed.failed')).toMatchObject([{ id: 'deployed', error: { code: 'not_permitted' } }]);
  });

  it('sees of another agent what it did for this session, and not what it did for others', async () => {
    const set = (value: string) => `<metadata>{"note":"${value}"}</metadata>${final('Noted.')}`;
    const helper = await defineAgent({
      name: 'helper',
      model: scripted([set('for others')]),
      metadata: { fields: { note: { type: 'string' } } },
    });
    const agent = await defineAgent({
      name: 'caller',
      agents: [helper],
      context_feeds: [{ id: 'manifests', source: { type: 'agent', name: 'helper' } }],
    });
    const runtime = await createRuntime({ store: createMemoryStore({ clock: createSystemClock() }) });
    await runtime.start(helper, { input: 'Go.' }).result;
    const { id, result } = runtime.start(agent, {
      input: 'Go.',
      model: scripted([
        add('a', { id: 'models', on_error: 'show', source: { type: 'agent', name: 'helper' } }),
        '<action id="c" type="agent" mode="sync">{"name":"helper","parameters":{"input":"Go."}}</action>',
        final('Ok.'),
      ]),
    });
    expect((await result).status).toBe('completed');
    const values = (await runtime.events(id)).flatMap((event) =>
      event.type === 'feed.updated' || event.type === 'feed.failed'
        ? [`${event.id} ${event.type === 'feed.failed' ? event.error.code : JSON.stringify(event.value)}`]
        : [],
    );
    await runtime.close();
    expect(values).toContain('manifests {"note":"for others"}');
    expect(values.filter((value) => value.startsWith('models'))[0]).toBe('models agent_unknown');
  });

  it('that adds ten thousand is told where the end is, and nothing else happens', async () => {
    const many = Array.from(
      { length: 10_000 },
      (_, at) =>
        `<action id="f${at}" type="internal">${JSON.stringify({ name: 'add_context_feed', parameters: { ...TIDE, id: `t${at}`, inject: 'reference' } })}</action>`,
    ).join('\n');
    const ran = await runAgent({ manifest: MANIFEST, files: FILES, turns: [many, final('Enough.')] });
    expect(ran.result.status).toBe('completed');
    expect(ran.of('feed.added')).toHaveLength(50);
    expect(new Set(ran.of('action.failed').map(({ error }) => error.code))).toEqual(new Set(['feed_limit']));
  }, 60_000);

  it('has them again when the session is resumed, and what was cached still counts', async () => {
    const folder = agentFolder(
      `${MANIFEST}`.replace(
        'inject: reference }]',
        'inject: reference }, { id: price, cache_ttl: 1h, source: { type: tool, name: price } }]',
      ),
      {
        ...FILES,
        ...source('price'),
        'price.json': '5',
        ...tool(
          'halt',
          'const { existsSync } = await import("node:fs"); if (!existsSync(new URL("../go", import.meta.url))) await new Promise((_, no) => context.signal.addEventListener("abort", no));',
          'idempotent: true\n',
        ),
      },
    );
    const store = createMemoryStore({ clock: createSystemClock() });
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const turns = [`${add('a', TIDE)}<action id="h" mode="sync">{"name":"halt"}</action>`, final('$tide')];
    const first = await createRuntime({ store, cwd: folder });
    const session = first.start(agent, { input: 'Go.', model: scripted(turns) });
    await eventually(async () =>
      expect((await first.events(session.id)).some(({ type }) => type === 'feed.added')).toBe(true),
    );
    await session.interrupt();
    await first.close();
    writeFileSync(join(folder, 'go'), '');
    const second = await createRuntime({ store, cwd: folder });
    const resumed = await second.resume(session.id, { agent, model: scripted(turns) });
    expect(await resumed.result).toMatchObject({ status: 'completed', result: 'low' });
    await second.close();
    expect(calls(folder, 'price')).toBe(1);
  });
});
