import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ForeignCall, findForeignCalls, withoutTemplateTokens } from '../../src/parser/foreign-calls.ts';

const names = new Set(['search', 'read_file', 'clock']);
const find = (text: string) => findForeignCalls(text, { names });
const heard = ({ name, parameters }: ForeignCall) => [name, parameters] as const;

/** One call of `search` with the query "x", as different models were trained to write it. */
const FORMS: Readonly<Record<string, string>> = {
  'OpenAI, arguments': '{"name": "search", "arguments": {"query": "x"}}',
  'arguments as a string': '{"name": "search", "arguments": "{\\"query\\": \\"x\\"}"}',
  'arguments as a string in a string': JSON.stringify({
    name: 'search',
    arguments: JSON.stringify(JSON.stringify({ query: 'x' })),
  }),
  'Llama, parameters': '{"type": "function", "name": "search", "parameters": {"query": "x"}}',
  args: '{"name": "search", "args": {"query": "x"}}',
  'Anthropic, input': '{"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"query": "x"}}',
  'a list of one': '[{"name": "search", "arguments": {"query": "x"}}]',
  'tool and tool_input': '{"tool": "search", "tool_input": {"query": "x"}}',
  'action and action_input': '{"action": "search", "action_input": {"query": "x"}}',
  'function object': '{"function": {"name": "search", "arguments": {"query": "x"}}}',
  'Gemini, functionCall': '{"functionCall": {"name": "search", "args": {"query": "x"}}}',
  tool_calls:
    '{"content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "search", "arguments": "{\\"query\\": \\"x\\"}"}}]}',
  'our own step':
    '{"thought": "hm", "tool_calls": [{"name": "search", "input": {"query": "x"}}], "is_complete": false}',
  'a namespace in front': '{"recipient_name": "functions.search", "parameters": {"query": "x"}}',
  'a trailing comma and single quotes': "{'name': 'search', 'arguments': {'query': 'x',},}",
  'a bracket missing at the end': '{"name": "search", "arguments": {"query": "x"}',
  Hermes: '<tool_call>\n{"name": "search", "arguments": {"query": "x"}}\n</tool_call>',
  'Hermes, not closed': '<tool_call>\n{"name": "search", "arguments": {"query": "x"}}',
  'Llama, function tag': '<function=search>{"query": "x"}</function>',
  'Llama, python tag': '<|python_tag|>{"name": "search", "parameters": {"query": "x"}}<|eom_id|>',
  'Llama, python tag with code': '<|python_tag|>search.call(query="x")',
  'Llama, a list of Python': '[search(query="x")]',
  'Qwen coder':
    '<tool_call>\n<function=search>\n<parameter=query>\nx\n</parameter>\n</function>\n</tool_call>',
  GLM: '<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>x</arg_value>\n</tool_call>',
  Mistral: '[TOOL_CALLS][{"name": "search", "arguments": {"query": "x"}}]</s>',
  'Mistral, newer': '[TOOL_CALLS]search[CALL_ID]a1[ARGS]{"query": "x"}',
  'Granite and Phi': '<|tool_call|>[{"name": "search", "arguments": {"query": "x"}}]<|/tool_call|>',
  'Anthropic, invoke':
    '<function_calls>\n<invoke name="search">\n<parameter name="query">x</parameter>\n</invoke>\n</function_calls>',
  'Anthropic, bare invoke': '<invoke name="search"><parameter name="query">x</parameter></invoke>',
  'Anthropic, oldest':
    '<invoke><tool_name>search</tool_name><parameters><query>x</query></parameters></invoke>',
  'invoke in a namespace':
    '<x:function_calls><x:invoke name="search"><x:parameter name="query">x</x:parameter></x:invoke></x:function_calls>',
  tool_use: '<tool_use><name>search</name><input>{"query": "x"}</input></tool_use>',
  'Cline, a tag for the tool': '<search>\n<query>x</query>\n</search>',
  'Cline, MCP':
    '<use_mcp_tool><server_name>s</server_name><tool_name>search</tool_name><arguments>{"query": "x"}</arguments></use_mcp_tool>',
  ReAct: 'Thought: I look it up.\nAction: search\nAction Input: {"query": "x"}',
  'code with an object': 'search({"query": "x"})',
  'code with keywords': 'functions.search(query="x")',
  DeepSeek:
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{"query": "x"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
  'DeepSeek, newer':
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{"query": "x"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  Kimi: '<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{"query": "x"}<|tool_call_end|><|tool_calls_section_end|>',
  harmony:
    '<|channel|>analysis<|message|>I call {"name": "clock", "arguments": {}}<|end|><|start|>assistant<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"query": "x"}<|call|>',
  'harmony, recipient first':
    '<|start|>assistant to=functions.search<|channel|>commentary json<|message|>{"query": "x"}',
  'our own tag': '<action>{"name": "search", "parameters": {"query": "x"}}</action>',
  'our own tag with a name': '<action name="search">{"query": "x"}</action>',
  'tokens of a template around':
    '\ufeff<|im_start|>assistant\n{"name": "search", "arguments": {"query": "x"}}<|im_end|>\n',
  'reasoning before':
    '<think>Maybe {"name": "clock", "arguments": {}}</think>\n{"name": "search", "arguments": {"query": "x"}}',
  'reasoning whose start the template wrote':
    'Maybe I should.</think>\n{"name": "search", "arguments": {"query": "x"}}',
};

/** What is left open can be read at the end of the text only. */
const LEFT_OPEN = ['a bracket missing at the end', 'Hermes, not closed'];
const CLOSED = Object.entries(FORMS).filter(([name]) => !LEFT_OPEN.includes(name));

/** The same in a fence. */
const FENCED: Readonly<Record<string, string>> = {
  'a fence round JSON': '```json\n{"name": "search", "arguments": {"query": "x"}}\n```',
  'a fence round a tag': '~~~\n<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>\n~~~',
  'Gemini, tool_code': '```tool_code\nprint(default_api.search(query="x"))\n```',
  'LangChain, structured chat': 'Action:\n```json\n{"action": "search", "action_input": {"query": "x"}}\n```',
  'a span of code': '`{"name": "search", "arguments": {"query": "x"}}`',
  'a fence left open': '```json\n{"name": "search", "arguments": {"query": "x"}}',
};

describe('a call written as text', () => {
  test.each(Object.entries(FORMS))('is recognized alone: %s', (_, text) => {
    const { calls, alone, unreadable } = find(text);
    expect(calls.map(heard)).toEqual([['search', { query: 'x' }]]);
    expect([alone, unreadable, calls[0]?.fenced]).toEqual([true, false, false]);
  });

  test.each(Object.entries(FENCED))('is recognized as fenced: %s', (_, text) => {
    const { calls, alone } = find(text);
    expect(calls.map(heard)).toEqual([['search', { query: 'x' }]]);
    expect([alone, calls[0]?.fenced]).toEqual([true, true]);
  });

  test.each(CLOSED)('is recognized with prose around, and not alone: %s', (_, text) => {
    const found = find(`I look it up.\n${text}\n\nThat will tell us more.`);
    expect(found.calls.map(heard)).toContainEqual(['search', { query: 'x' }]);
    expect(found.alone).toBe(false);
  });

  test.each(CLOSED)('is recognized twice where it stands twice: %s', (name, text) => {
    const { calls, alone } = find(`${text}\n${text}`);
    const searches = calls.filter((call) => call.name === 'search');
    expect(searches.map(({ parameters }) => parameters)).toEqual([{ query: 'x' }, { query: 'x' }]);
    expect(alone).toBe(name !== 'reasoning whose start the template wrote');
  });

  test('says where it stands', () => {
    const call = '<tool_call>{"name": "search", "arguments": {}}</tool_call>';
    const { calls } = find(`Well: ${call} done`);
    expect(calls.map(({ start, end }) => [start, end])).toEqual([[6, 6 + call.length]]);
  });

  test('keeps what it says about how to run', () => {
    const fieldsOf = (text: string) => find(text).calls.map(({ fields }) => fields);
    expect(fieldsOf('<action type="tool" id="s" mode="sync">{"name": "search"}</action>')).toEqual([
      { type: 'tool', id: 's', mode: 'sync' },
    ]);
    expect(fieldsOf('{"name": "search", "parameters": {}, "depends_on": ["a"]}')).toEqual([
      { depends_on: ['a'] },
    ]);
    const native = find('{"name": "search", "arguments": {"query": "x", "_run": {"id": "s"}}}').calls;
    expect(native).toMatchObject([{ parameters: { query: 'x' }, fields: { id: 's' } }]);
  });

  test('keeps untyped parameters as the text that they are', () => {
    const text =
      '<invoke name="search"><parameter name="n">3</parameter><parameter name="s">\n a\n b\n</parameter></invoke>';
    expect(find(text).calls[0]?.parameters).toEqual({ n: '3', s: ' a\n b' });
    const inline = '<invoke name="search"><parameter name="s">a\nb\n</parameter></invoke>';
    expect(find(inline).calls[0]?.parameters).toEqual({ s: 'a\nb\n' });
  });

  test('may hold the marks of calls in its strings', () => {
    const text = '<tool_call>{"name": "search", "arguments": {"query": "</tool_call> ``` {"}}</tool_call>';
    const { calls, alone } = find(text);
    expect([calls[0]?.parameters, alone]).toEqual([{ query: '</tool_call> ``` {' }, true]);
  });

  test('keeps a prefix that belongs to a known name', () => {
    const text = '{"name": "functions.search", "arguments": {}}';
    expect(find(text).calls[0]?.name).toBe('search');
    const own = findForeignCalls(text, { names: new Set(['functions.search']) });
    expect(own.calls[0]?.name).toBe('functions.search');
  });

  test('of an unknown name is recognized where its form is certain', () => {
    expect(find('{"name": "nope", "arguments": {"a": 1}}').calls.map(heard)).toEqual([['nope', { a: 1 }]]);
    expect(find('nope({"a": 1})').calls).toEqual([]);
    expect(find('<nope><a>1</a></nope>').calls).toEqual([]);
  });

  test('that cannot be read is told from prose', () => {
    expect(find('<tool_call>{"name": search</tool_call>')).toEqual({
      calls: [],
      alone: false,
      unreadable: true,
    });
    expect(find('Put it between <tool_call> and its end.').unreadable).toBe(false);
  });
});

describe('text that is no call', () => {
  test.each([
    ['a JSON answer', '{"name": "Ana", "age": 3, "input": {"a": 1}}'],
    ['a JSON answer with a text', '{"name": "Ana", "input": "by mail"}'],
    ['a JSON answer that holds calls as data', '{"log": [{"name": "search", "arguments": {}}]}'],
    [
      'the declaration of a tool',
      '{"name": "search", "description": "Searches.", "parameters": {"type": "object", "properties": {}}}',
    ],
    [
      'the parameters of a declaration',
      '{"name": "search", "parameters": {"type": "object", "properties": {"q": {}}}}',
    ],
    ['a word about a field', 'The `"name"` says what is called, "arguments" with what.'],
    ['a quoted call in an explanation', 'Write `{"name": "search", "arguments": {}}` for that.'],
    [
      'a fenced example of something unknown',
      'OpenAI does it so:\n```json\n{"name": "get_weather", "arguments": {}}\n```\n',
    ],
    ['code that calls', '```js\nconst r = await search({ query });\nprint(r);\n```'],
    ['a function in prose', 'Call search("x") or search(q) first.'],
    ['a final answer of LangChain', '{"action": "Final Answer", "action_input": "42"}'],
    ['a heading called Action', 'Action: fix the build\nThen deploy.'],
    ['markup', '<b>bold</b> <search> boxes</search> and x < y'],
    ['white space and a token', ' <|im_end|>\n'],
    ['reasoning', '<think>{"name": "search", "arguments": {}}</think>'],
    ['a list', '[1, 2, {"a": 1}]'],
    ['a response', '<response final="true">hi</response>'],
    ['nothing', ''],
  ])('is none: %s', (_, text) => {
    expect(find(text)).toEqual({ calls: [], alone: false, unreadable: false });
  });
});

describe('hostile text', () => {
  const PIECES = [
    '{"name":',
    '{"a"',
    '{"a":"',
    "{'a':",
    '{/*',
    '{"a":1 //',
    '[',
    '[search(',
    '{"tool_calls":[',
    '"\\',
    '`',
    '`` ',
    '<tool_call>',
    '<tool_call>{',
    '<invoke name="x">',
    '<invoke name="x"><parameter name="a">',
    '<function=x>',
    '<think>',
    '<search>',
    '<search><a>',
    '<a x="',
    '<a x="<a',
    '<a b=c b=c b=c ',
    '<action name="x">',
    '[TOOL_CALLS]',
    '~~~\n',
    '```\n',
    '<|channel|>',
    '<|start|>assistant to=',
    'Action: x\nAction Input: ',
    'Thought:\n',
    'search(a=',
    'search(a="x",',
    '</think>',
  ];

  test.each(PIECES)('takes no longer than its length allows: %s', (piece) => {
    const text = piece.repeat(Math.ceil((1024 * 1024) / piece.length));
    expect(find(text).alone).toBe(false);
  });

  test('never throws, and places every call inside the text', () => {
    const part = fc.oneof(
      fc.constantFrom(...PIECES, ...Object.values(FORMS), ...Object.values(FENCED)),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        for (const { start, end } of find(text).calls) {
          expect(start).toBeGreaterThanOrEqual(0);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
        }
      }),
    );
  });
});

describe('tokens of chat templates', () => {
  test.each([
    ['<|im_end|>', ''],
    ['\ufeff\n <|eot_id|></s>', ''],
    ['<|im_start|>assistant\nIt is 4.<|im_end|>\n', 'It is 4.'],
    ['<|channel|>final<|message|>It is 4.<|return|>', 'It is 4.'],
    ['<｜end▁of▁sentence｜>', ''],
    ['It says <|im_end|> here.', 'It says <|im_end|> here.'],
    ['a [INST] b', 'a [INST] b'],
    ['ответ<end_of_turn>', 'ответ'],
  ])('at the ends of %j leave %j', (text, left) => {
    expect(withoutTemplateTokens(text)).toBe(left);
  });
});
