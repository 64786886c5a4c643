import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { openModel } from '../../src/models/open-model.ts';
import { parseStream } from '../../src/parser/parse-stream.ts';
import { type RunOptions, runAgent, tool } from '../agent/run-agent.ts';
import { sse, startProviderServer } from '../models/provider-server.ts';
import { GOOGLE } from '../models/wire-formats.ts';

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
      'The parameters of prompt "summarize" are wrong: "/model" is "gemini-1.5-flash", which is not a model of this agent.',
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

const ECHO = {
  ...tool('web_scraper', 'return `The page ${input.url}`;'),
  ...tool('text_analyzer', 'return { length: input.text.length };'),
  ...tool('logger', 'return input;'),
};
const TOOLS = 'protocol: {}\nimport: { tools: [tools/*.yml] }\n';
const said = (turns: readonly string[], manifest = '', more: Partial<RunOptions> = {}) =>
  runAgent({ manifest: TOOLS + manifest, turns, ...more, files: { ...ECHO, ...more.files } });

test('an action in a thought starts before the thought is over', async () => {
  const run = await said([
    `<thought>
I need to fetch data from source A.
<action type="tool" mode="async" id="fetchA"> 
{
  "name": "web_scraper",
  "parameters": {"url": "https://example.com"}
}
</action>
While that runs, I can start planning the analysis.
</thought>`,
    '<response>Found: $fetchA</response>',
  ]);
  expect(run.result.result).toBe('Found: The page https://example.com');
  const index = (type: string) => run.observed.findIndex((event) => event.type === type);
  expect(index('action.declared')).toBeLessThan(index('thought'));
  expect(
    run
      .of('thought')
      .map(({ text }) => text)
      .join(''),
  ).toContain('While that runs');
});

test('responses that are not final come one after the other in one turn', async () => {
  const run = await said([
    `<response final="false">
Here is what I found so far.
</response>
<thought>On.</thought>
<action type="tool" mode="sync" id="deep">{"name": "text_analyzer", "parameters": {"text": "abc"}}</action>
<response final="true">
## Final Report $deep
</response>`,
  ]);
  expect(run.result).toMatchObject({ status: 'completed', turns: 1 });
  expect(run.of('response').map(({ text, final }) => [text, final])).toEqual([
    ['Here is what I found so far.', false],
    ['## Final Report {"length":3}', true],
  ]);
});

test('dependencies may stand in the tag, and comments in the body', async () => {
  const run = await said([
    `<action id="fetch_data">{"name": "web_scraper", "parameters": {"url": "u"}, "output_key": "webpage"}</action>
<action mode="sync" id="analyze" depends_on=["fetch_data"]>
{
  "name": "text_analyzer",
  "parameters": {"text": "$webpage"},
  "timeout": 30,
  "retry": 3,
  "on_error": "skip"  // or "fail", "retry"
}
</action>
<response>$analyze</response>`,
  ]);
  expect(run.result.result).toBe('{"length":10}');
});

test('what depends on an action that failed is skipped, and the model hears of both', async () => {
  const run = await said(
    [
      `<action id="fetch">{"name": "broken", "on_error": "skip"}</action>
<action id="analyze">{"name": "text_analyzer", "parameters": {"text": "$fetch"}, "depends_on": ["fetch"]}</action>`,
      '<response>It could not be fetched.</response>',
    ],
    '',
    { files: tool('broken', 'throw new Error("no page");') },
  );
  expect(run.of('action.skipped')).toMatchObject([{ id: 'analyze', reason: 'dependency', because: 'fetch' }]);
  expect(run.prompts[1]).toMatch(/status="error"[\s\S]*no page[\s\S]*status="skipped"/);
});

test('a mode fire_and_forget shows no result', async () => {
  const run = await said([
    '<action type="tool" mode="fire_and_forget" id="log">{"name": "logger", "parameters": {"event": "data_processed"}}</action><thought>On.</thought>',
    '<thought>And on.</thought>',
    '<response>Done.</response>',
  ]);
  expect(run.prompts.join('\n')).not.toContain('data_processed');
  expect(run.of('action.completed')).toHaveLength(1);
});

test('feeds of each kind stand in the prompt, and actions read them', async () => {
  const run = await said(
    [
      `<action type="tool" mode="sync" id="log_event">
{"name": "logger", "parameters": {"timestamp": "$current_datetime", "system_load": "$system_metrics"}}
</action>
<action type="internal" mode="sync" id="update_feed">{"name": "update_context_feed", "parameters": {"id": "system_metrics", "interval": 60  // Change from 30s to 60s
}}</action>`,
      '<response>Done.</response>',
    ],
    `permissions: { paths: ["."] }
context_feeds:
  - id: "current_datetime"
    type: "on_demand"
    source:
      type: "internal"
      action: "system_clock"
      params: { format: "ISO8601", timezone: "UTC" }
  - id: "system_metrics"
    type: "periodic"
    interval: 30 # seconds
    source:
      type: "tool"
      name: "system_monitor_tool"
      params: { metrics: ["cpu", "memory"] }
  - id: "journal_tree"
    type: "on_demand"
    source:
      type: "tool"
      name: "filesystem"
      params: { path: "\${JOURNAL_ROOT:-journal}", format: "tree" }
  - id: "expensive_data"
    type: "on_demand"
    cache_ttl: 300
    max_tokens: 1000
    source: { type: "tool", name: "web_scraper", params: { url: "u" } }
  - id: "debug_info"
    type: "on_demand"
    enabled: "\${DEBUG_MODE}"
    source: { type: "internal", action: "debug_context" }
`,
    {
      files: {
        ...tool(
          'system_monitor_tool',
          'return { cpu: 45.2, memory: 62.8, asked: input.metrics };',
          'idempotent: true\n',
        ),
        ...tool('filesystem', 'return `tree of ${input.path} as ${input.format}`;', 'idempotent: true\n'),
      },
    },
  );
  expect(run.of('action.failed')).toEqual([]);
  const fed = /<context_feed id="current_datetime"[^>]*>\s*(\S+)\s*<\/context_feed>/.exec(
    run.prompts[0] ?? '',
  );
  expect(Number.isNaN(Date.parse(fed?.[1] ?? ''))).toBe(false);
  expect(run.prompts[0]).toContain('tree of journal as tree');
  expect(run.prompts[0]).not.toContain('debug_info');
  expect(run.of('action.completed')[0]?.output).toMatchObject({
    timestamp: fed?.[1],
    system_load: { cpu: 45.2, asked: ['cpu', 'memory'] },
  });
});

test('conditions, loops, groups, thoughts in thoughts, templates and rollbacks are there', async () => {
  const run = await said(
    [
      `<thought>Plan. <thought>In detail.</thought></thought>
<action mode="sync" id="list">{"name": "urls"}</action>
<if test="actions.list.status == 'completed'"><parallel id="all"><action id="one">{"template": "fetch", "parameters": {"url": "x"}}</action></parallel><else/><action id="none">{"name": "logger"}</action></if>
<foreach in="$list" as="url"><action id="each">{"name": "web_scraper", "parameters": {"url": "$url"}, "compensate": {"name": "logger", "parameters": {"undo": "$url"}}}</action></foreach>`,
      '<action type="internal" mode="sync" id="undo">{"name": "rollback", "parameters": {"to": "list"}}</action>',
      '<response>Done.</response>',
    ],
    'action_templates: { fetch: { type: tool, name: web_scraper } }\n',
    { files: tool('urls', 'return ["a", "b"];') },
  );
  expect(run.of('fault')).toEqual([]);
  expect(run.of('thought').map(({ depth }) => depth)).toContain(1);
  expect(run.of('action.completed').map(({ id }) => id)).toEqual(
    expect.arrayContaining(['list', 'one', 'each[0]', 'each[1]']),
  );
  expect(
    run
      .of('action.compensated')
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(['each[0]', 'each[1]']);
});

test('the parser alone reads a stream and tells of it as it comes', async () => {
  const heard: string[] = [];
  const chunks = [
    '<thou',
    'ght>Hm.</thought><action id="a">{"name": "x"}',
    '</action><response>Done.</resp',
    'onse>',
  ];
  await parseStream(chunks, {
    onDelta: ({ tag, text }) => heard.push(`${tag}: ${text}`),
    onAction: ({ name }) => heard.push(`action ${name}`),
  });
  expect(heard).toEqual(['thought: Hm.', 'action x', 'response: Done.']);
});
