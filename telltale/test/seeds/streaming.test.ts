import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/kernel/clock.ts';
import { openModel } from '../../src/models/open-model.ts';
import { sse, startProviderServer } from '../models/provider-server.ts';
import { GOOGLE } from '../models/wire-formats.ts';
import { type RunOptions, runAgent, tool } from '../session/run-agent.ts';

/** An agent of the given manifest that says this, and then a final response. */
const ran = (said: string, manifest: string, more: Partial<RunOptions> = {}) =>
  runAgent({ manifest, turns: [said, '<response>Done.</response>'], ...more });

const relics = (files: Readonly<Record<string, string>>) => ({
  manifest: 'import: { relics: [relics/*.yml] }\n',
  files: Object.fromEntries(
    Object.entries(files).map(([name, driver]) => [
      `relics/${name}.yml`,
      `kind: Relic\nname: ${name}\ndriver: ${driver}\n`,
    ]),
  ),
});

const ADD_FEED = `<action type="context_feed" mode="sync" id="add_feed">
{
  "name": "add_context_feed",
  "parameters": {
    "id": "recent_errors",
    "type": "on_demand",
    "source": { "type": "relic", "name": "log_service", "params": { "filter": "ERROR", "since": "1h" } }
  }
}
</action>`;
const logService = (more = '') => {
  const { manifest, files } = relics({ log_service: 'log' });
  return { manifest: manifest + more, files };
};

test('an agent without feeds adds one, sees it and removes it', async () => {
  const { manifest, files } = logService();
  const run = await runAgent({
    manifest,
    files,
    turns: [
      `<action type="relic" mode="sync" id="log">{"name":"log_service","parameters":{"level":"ERROR","text":"disk full"}}</action>${ADD_FEED}`,
      '<action type="internal" mode="sync" id="look">{"name":"list_context_feeds"}</action>',
      '<action type="internal" mode="sync" id="remove_feed">{"name":"remove_context_feed","parameters":{"id":"recent_errors"}}</action>',
      '<response>Done.</response>',
    ],
  });
  expect(run.of('action.failed')).toEqual([]);
  expect(run.prompts[1]).toMatch(/<context_feed id="recent_errors"[^>]*>[^<]*disk full/);
  expect(run.of('action.completed').find(({ id }) => id === 'look')?.output).toMatchObject({
    feeds: [{ id: 'recent_errors' }],
  });
  expect(run.of('feed.removed').map(({ id }) => id)).toEqual(['recent_errors']);
});

test.each([
  ['internal_actions: { enabled: false }\n'],
  ['internal_actions: { blocked_actions: [add_context_feed] }\n'],
  ['internal_actions: { allowed_actions: [remove_context_feed] }\n'],
])('an agent adds no feed with %s', async (setting) => {
  const { manifest, files } = logService(setting);
  const run = await ran(ADD_FEED, manifest, { files });
  expect(run.of('action.failed')).toMatchObject([{ id: 'add_feed', error: { code: 'not_permitted' } }]);
});

test('an agent without feeds and without a tool for files reads none by a feed', async () => {
  const add = (type: string) =>
    `<action type="internal" mode="sync" id="${type}">${JSON.stringify({ name: 'add_context_feed', parameters: { id: type, source: { type, name: '.' } } })}</action>`;
  const asked = add('file') + add('repo');
  expect((await ran(asked, '')).of('action.failed')).toMatchObject([
    { id: 'file', error: { code: 'not_permitted' } },
    { id: 'repo', error: { code: 'not_permitted' } },
  ]);
  const withTool = await ran(asked, 'import: { tools: [builtin:filesystem] }\n');
  expect(withTool.of('action.failed')).toEqual([]);
});

test('a relic keeps a value without being told to set it, and gives it back', async () => {
  const { manifest, files } = relics({ results_cache: 'kv' });
  const run = await ran(
    `<action type="relic" mode="sync" id="keep">
{"name": "results_cache", "parameters": {"key": "report", "value": {"n": 1}, "ttl": 86400}}
</action>
<action type="relic" mode="sync" id="look">
{"name": "results_cache", "parameters": {"key": "report"}, "depends_on": ["keep"]}
</action>`,
    manifest,
    { files },
  );
  expect(run.of('action.failed')).toEqual([]);
  expect(run.of('action.completed').map(({ output }) => output)).toEqual([
    { key: 'report', expires_in_ms: 86_400_000 },
    { n: 1 },
  ]);
  // Hooks, reviews and the log see the operation.
  expect(run.of('action.started').map(({ input }) => input.operation)).toEqual(['set', undefined]);
});

test('a relic logs any object, and the value alone where nothing else is given', async () => {
  const { manifest, files } = relics({ logger: 'log' });
  const run = await ran(
    `<action type="relic" mode="sync" id="one">{"name": "logger", "parameters": {"event": "data_processed"}}</action>
<action type="relic" mode="sync" id="two">{"name": "logger", "parameters": {"value": 2}}</action>
<action type="relic" mode="sync" id="three">{"name": "logger", "parameters": {"key": "a", "value": 3}}</action>
<action type="relic" mode="sync" id="none">{"name": "logger", "parameters": {}}</action>
<action type="relic" mode="sync" id="read">{"name": "logger", "parameters": {"operation": "read"}}</action>`,
    manifest,
    { files },
  );
  expect(run.of('action.failed').map(({ id, error }) => `${id} ${error.code}`)).toEqual([
    'none bad_parameters',
  ]);
  expect(run.of('action.completed').at(-1)?.output).toMatchObject({
    entries: [{ value: { event: 'data_processed' } }, { value: 2 }, { value: { key: 'a', value: 3 } }],
  });
});

const SUMMARIZE = `<action type="llm" mode="async" id="summarize">
{
  "name": "summarize",
  "parameters": {
    "text": "All of the long document.",
    "max_length": 200,
    "model": "gemini-1.5-flash"
  },
  "output_key": "summary"
}
</action>`;

test.each([
  ['a name of "models"', '{ gemini-1.5-flash: "scripted:flash.yml" }', 'gemini-1.5-flash'],
  ['a name with a slash', '{ google/gemini-1.5-flash: "scripted:flash.yml" }', 'google/gemini-1.5-flash'],
])('a prompt is asked with a length and a model, which is %s', async (_, models, model) => {
  const run = await ran(SUMMARIZE.replace('gemini-1.5-flash', model), `models: ${models}\n`, {
    files: {
      'flash.yml': 'turns: [{ expect: [200 characters, All of the long document], text: Short. }]\n',
    },
  });
  expect(run.of('action.completed').map(({ output }) => output)).toEqual(['Short.']);
});

test('an action may name only the models of its agent, and a length above zero', async () => {
  const run = await ran(
    `${SUMMARIZE}<action type="llm" id="b">{"name": "summarize", "parameters": {"text": "x", "max_length": 0}}</action>`,
    'models: { gemini-2.5-flash: "scripted:flash.yml" }\n',
    { files: { 'flash.yml': 'turns: [Short.]\n' } },
  );
  expect(run.of('action.failed').map(({ error }) => [error.code, error.message, error.hint])).toEqual([
    [
      'bad_parameters',
      'The parameters of prompt "summarize" are wrong: "/model" is "gemini-1.5-flash", which is no model of this agent.',
      'Did you mean "gemini-2.5-flash"?',
    ],
    [
      'bad_parameters',
      'The parameters of prompt "summarize" are wrong: "/max_length" is 0.',
      'Give a whole number of characters, above zero.',
    ],
  ]);
});

test('an action and a feed take the context and the question under these names', async () => {
  const run = await ran(
    '<action type="llm" id="a">{"name": "summarize", "parameters": {"prompt": "Its purpose", "context": "A page", "model": "flash"}}</action>',
    'models: { fast: "scripted:fast.yml", other: ollama/flash, flash: "scripted:flash.yml" }\n',
    { files: { 'flash.yml': 'turns: [{ expect: [Its purpose, A page], text: Pages. }]\n' } },
  );
  expect(run.of('action.completed').map(({ output }) => output)).toEqual(['Pages.']);
});

test('a feed asks the provider whose model it names, and so does an llm step', async () => {
  const server = await startProviderServer();
  server.answer = (response) => {
    sse(response, [GOOGLE.delta('A code base.'), ...GOOGLE.end('stop')]);
    response.end();
  };
  try {
    const run = await ran(
      '<action type="workflow" mode="sync" id="w">{"name": "ask"}</action>',
      `import: { workflows: [ask.yml] }
context_feeds:
  - id: code_summary
    type: on_demand
    cache_ttl: 1800
    source:
      type: llm
      name: summarize
      params: { prompt: Summarize the main purpose, context: A tree, model: gemini-1.5-flash }
`,
      {
        files: {
          'ask.yml': `kind: Workflow
name: ask
steps:
  - { name: s, type: llm, target: summarize, parameters: { text: x, max_length: 50, model: gemini-1.5-pro } }
`,
        },
        runtime: { env: GOOGLE.env(server.url) },
      },
    );
    expect(run.of('action.failed')).toEqual([]);
    expect(run.prompts[0]).toContain('A code base.');
    expect(server.requests.map(({ url }) => /models\/([^:]*)/.exec(url)?.[1])).toEqual([
      'gemini-1.5-flash',
      'gemini-1.5-pro',
    ]);
    expect(server.requests[1]?.body).toContain('50 characters');
  } finally {
    await server.close();
  }
});

test.each([
  ['gemini-1.5-flash', 'google/gemini-1.5-flash'],
  ['claude-sonnet-4-5', 'anthropic/claude-sonnet-4-5'],
  ['gpt-4o-mini', 'openai/gpt-4o-mini'],
  ['o3', 'openai/o3'],
])('%s finds its provider', async (name, full) => {
  const options = { env: {}, folder: '.', clock: createSystemClock(), unasked: true };
  expect((await openModel(name, options)).id).toBe(full);
});

test.each(['llama3', 'gpt-oss-120b', 'o', 'office'])('%s names no provider', async (name) => {
  await expect(openModel(name, { env: {}, folder: '.', clock: createSystemClock() })).rejects.toMatchObject({
    code: 'model_unknown',
  });
});

/** An agent in a file of its own that says this; its prompt holds the texts. */
const helper = (name: string, says: string, expected: readonly string[], more = '') => ({
  [`agents/${name}.yml`]: `kind: Agent\nname: ${name}\nmodel: scripted:../turns/${name}.yml\n${more}`,
  [`turns/${name}.yml`]: `turns:\n  - ${JSON.stringify({ expect: expected, text: `<response>${says}</response>` })}\n`,
});

test('the complete example runs in one turn', async () => {
  const run = await runAgent({
    manifest:
      'protocol: {}\nimport: { tools: [tools/*.yml], agents: [agents/*.yml], relics: [relics/*.yml] }\n',
    files: {
      ...relics({ results_cache: 'kv' }).files,
      ...tool('web_scraper', 'return `The page ${input.url}`;'),
      ...tool('arxiv_search', 'return [{ title: input.query }];'),
      ...tool('news_api', 'return { days: input.days };'),
      ...helper('comprehensive_analyzer', 'All agree.', [
        'wikipedia: The page https://en.wikipedia.org/wiki/AI',
        'research_papers: [{"title":"machine learning"}]',
        'news: {"days":7}',
      ]),
    },
    turns: [
      `<thought>
Three sources, then an analysis.
</thought>

<action type="tool" mode="async" id="wiki">
{
  "name": "web_scraper",
  "parameters": {"url": "https://en.wikipedia.org/wiki/AI"},
  "output_key": "wiki_data"
}
</action>

<action type="tool" mode="async" id="arxiv">
{
  "name": "arxiv_search",
  "parameters": {"query": "machine learning", "max_results": 10},
  "output_key": "papers"
}
</action>

<action type="tool" mode="async" id="news">
{
  "name": "news_api",
  "parameters": {"topic": "artificial intelligence", "days": 7},
  "output_key": "news_articles"
}
</action>

<action type="agent" mode="sync" id="analyze">
{
  "name": "comprehensive_analyzer",
  "parameters": {
    "wikipedia": "$wiki_data",
    "research_papers": "$papers",
    "news": "$news_articles"
  },
  "depends_on": ["wiki", "arxiv", "news"],
  "output_key": "comprehensive_analysis"
}
</action>

<action type="relic" mode="fire_and_forget" id="cache">
{
  "name": "results_cache",
  "parameters": {
    "key": "ai_research_report",
    "value": "$comprehensive_analysis",
    "ttl": 86400
  },
  "depends_on": ["analyze"]
}
</action>

<response>
# AI Research Report

$comprehensive_analysis
</response>`,
    ],
  });
  expect(run.result).toMatchObject({ status: 'completed', turns: 1 });
  expect(run.of('session.completed')[0]?.result).toBe('# AI Research Report\n\nAll agree.');
  expect(run.of('action.completed').map(({ id }) => id)).toEqual(
    expect.arrayContaining(['wiki', 'arxiv', 'news', 'analyze', 'cache']),
  );
});

test('an agent with an input schema takes what fits it, from actions and from workflows', async () => {
  const call = (id: string, parameters: object, extra = '') =>
    `<action type="agent" mode="sync" id="${id}">{"name": "analyzer", "parameters": ${JSON.stringify(parameters)}${extra}}</action>`;
  const run = await ran(
    `${call('none', {})}${call('wrong', { webpage: 5, users: [] })}${call('good', { webpage: 'A page', users: ['ann'] })}
<action type="workflow" mode="sync" id="flow">{"name": "flow"}</action>
<action type="agent" mode="sync" id="idle">{"name": "anything", "parameters": {}}</action>`,
    'import: { agents: [agents/*.yml], workflows: [flow.yml] }\n',
    {
      files: {
        ...helper(
          'analyzer',
          'One user.',
          ['users: ["ann"]'],
          `input:
  type: object
  properties: { webpage: { type: string }, users: { type: array, items: { type: string } } }
  required: [webpage]
`,
        ),
        ...helper('anything', 'Nothing.', [], 'input: { schema: { type: object } }\n'),
        'flow.yml': `kind: Workflow
name: flow
steps: [{ name: s, type: agent, target: analyzer, parameters: { users: [ann] } }]
`,
      },
    },
  );
  expect(run.of('action.completed').map(({ id, output }) => [id, output])).toEqual([['good', 'One user.']]);
  expect(run.of('action.failed').map(({ id, error }) => `${id}: ${error.message}`)).toEqual([
    'none: The parameters of agent "analyzer" are wrong: "webpage" is missing.',
    expect.stringContaining('"/webpage"'),
    expect.stringContaining('"webpage" is missing'),
    'idle: The parameters of agent "anything" are wrong: there is nothing in them to do.',
  ]);
  expect(run.prompts[0]).not.toContain('your conversation');
});
