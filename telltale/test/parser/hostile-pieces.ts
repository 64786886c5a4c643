/** The pieces from which hostile turns are put together. */

export const SEAL = 'k9';

// biome-ignore format: a table
export const ATTRIBUTE_NAMES = [
  'id', 'type', 'mode', 'test', 'in', 'as', 'final', 'key', 'depends_on', 'x', 'name', 'output_key',
  'timeout', 'retry', 'on_error', 'literal',
] as const;

// biome-ignore format: a table
export const ATTRIBUTE_VALUES = [
  'a1', 'x', 'g', 'a b', '', 'tool', 'context_feed', 'sync', 'later', 'true', 'FALSE', 'maybe', SEAL,
  '$list', '1a', 'a < 1', 'x > y', '&lt;b&gt;&amp;&quot;', '&amp;lt;', '/', 'a/', '`', '```', '</thought>',
  '<action>{"name":"q"}</action>', '\n', '=', '[1]', 'é', '\ud800', '[]', '["a"]', '[a1, x]', 'a,b  c', '2',
  '1.5', '-1', '1e3', 'skip', '["]"', '[\'a\']', '["a", 1]', 'a[0]',
] as const;

// biome-ignore format: a table
export const GOOD_ATTRIBUTES = [
  ' id="x"', ' id="a1"', " id='g'", ' id=y', ' type="agent"', ' mode=sync', ' mode="fire_and_forget"',
  ` key="${SEAL}"`, ' test="x > 1"', ' test="y"', ' in="$list"', ' as="item"', ' final="false"', ' final',
  ' final=True', ' name="n"', ' name="n"', ' name=m', ' depends_on=["a1", "x"]', ' depends_on="x a1"',
  ' timeout="3"', ' retry=2', ' output_key="o"', ' on_error="fail"', ' literal="True"', ' mode="background"',
] as const;

// biome-ignore format: a table
export const ODD_ATTRIBUTES = [
  ' sync', ' "', " '", ' ="v"', '"q"', ' id="x"mode="sync"', ' id=', ' /', '/', ' <', ' final="no"',
  ' test=""', ' é=1', ' 1=2', ' a.b:c-d=1', ' id="open', ' depends_on=["a\n"]', ' depends_on=[a', ' depends_on=[>]',
  ' depends_on=["<"]', ' depends_on=["a"]x', ' depends_on=[a]/', ' timeout=0', ' retry=1.5', ' name=""', ' name',
] as const;

// biome-ignore format: a table
export const OPENINGS = [
  '<thought>', '<think>', '<response>', '<response final="false">', '<response final>', '<if test="x">',
  '<else/>', '<else>', '<foreach in="$list">', `<foreach in="$l" as="f" key="${SEAL}">`, '<parallel>',
  '<parallel id="g">', '<parallel id="x">', '<action>', `<action key="${SEAL}">`, '<metadata>',
  '<thought/>', '<response/>', '<if test="x"/>', '<foreach in="$l"/>', '<parallel/>', '<action/>', '<if>',
  '<if test="<">', '<if test=<', '<if a', '<thought a=', '<thought about', '<response to', '<result>',
  '<context_feed id="c">', '<action name="n">', '<action name="n"/>', '\n<action name="n"/>', '<action name=n />\n',
  '<action name="n" id="x"></action>', '<action name="n">\n </action>\n', '\n<action name="n">',
  '\n<action name="n"/>\n', '\n<action name="n"/> \t<action name="n"/>',
] as const;

// biome-ignore format: a table
export const CLOSINGS = [
  '</thought>', '</thinking>', '</response>', '</if>', '</foreach>', '</parallel>', '</action>',
  '</metadata>', '</thought\n>', '</response  >', '</if >', '</else>', '</result>', '</if x>', '</action',
  '</respon',
] as const;

// biome-ignore format: a table
export const STRING_PARTS = [
  'a', '</action>', '</action>\n', '</metadata> \r\n', '<thought>', '\\"', '\\\\', '\\n', '"', "'", '\n',
  '\t', '{', '}', '//', '/*', '```', '\u2028', '\ud83d', '😀', '\\u00e9', '\\', '\\<',
] as const;

// biome-ignore format: a table
export const FIELDS = [
  '"name": "n"', '"name": "n"', '"name": "n"', '"name": ""', '"name": 7', "'name': 'n'", 'name: "n"',
  '"template": "t"', '"parameters": {}', '"parameters": {...}', '"parameters": [1, 2,]',
  '"parameters": {"a": [1, {"b": null}]}', '"depends_on": ["a1"]', '"depends_on": [""]',
  '"depends_on": "a"', '"dependson": ["a"]', '"timeout": 2.5', '"timeout": 0', '"timeout": 1e999',
  '"retry": 3', '"retry": -1', '"on_error": "fail"', '"on_error": "no"', '"if": "x"', '"if": ""',
  '"output_key": "o-1"', '"output_key": "1"', '"compensate": {"name": "u"}',
  '"compensate": {"name": "u", "type": "relic"}', '"compensate": {"type": "tool"}',
  '"compensate": {"name": "u", "mode": "sync"}', '"parameters": null', '"foo": null', '"id": "x"',
  '"type": null', '"__proto__": {}', '...', '"arguments": {"a": 1}', '"args": {"a": 1}', '"input": {}',
  '"input": "{}"', '"parameters": "{\\"a\\": 1}"', '"literal": true', '"literal": 1', '"retry": 2', '"timeout": 3',
] as const;

// biome-ignore format: a table
export const BODY_ENDS = [
  '}', '}', '}', '}', ',}', '', ']}', '} x', '}}', '} /* c */', '} // c', '} // c\n', ' # c\n}', ' #c}', '\n}\n',
] as const;

// biome-ignore format: a table
export const PLAIN_BODIES = [
  '{"name": "n"}', '{"name": "m", "parameters": {"x": 1}}', '{}', '...', '[]', '"x"', '{', ' ', '',
] as const;

// biome-ignore format: a table
export const QUICK_ACTIONS = [
  '<action>{"name":"n"}</action>', '<action id="x">{"name":"n"}</action>',
  '<action id="a2">{"name":"n"}</action>', `<action key="${SEAL}">{"name":"n"}</action>`,
  '<action mode="sync">{"template":"t"}</action>', '<metadata>{"a":1}</metadata>', '<action name="n">{"x":1}</action>',
  '<action name="n" retry=2>{"parameters":{"x":1},"retry":2}</action>',
  '<action name="n">{"parameters":{},"x":1}</action>', '<action name="n">{"parameters":{},"id":"q"}</action>',
  `<metadata key="${SEAL}">{}</metadata>`,
] as const;

// biome-ignore format: a table
export const PROSE = [
  'a', 'word', 'two words', ' ', '  ', '\n', '\n', '\n', '\r\n', '\r', '\t', '.', '<', '</', '< ', '<b>',
  '<!-- c -->', '>', '> ', '- ', '* ', '1. ', '2) ', '-', '"', "'", '=', '/', '\\', '\\`', '{', '}', '$x',
  '&lt;', '😀', '\ud83d', '\ude00', '\u0000', '\u2028', '\u00a0', 'é', '\ufeff',
] as const;

// biome-ignore format: a table
export const ELEMENTS = [
  ['<thought>', '</thought>'], ['<response>', '</response>'], ['<if test="x">', '</if>'],
  ['<if test="x">\n', '\n<else/>'], ['<else/>', '</if>'], ['<foreach in="$l">', '</foreach>'],
  ['<parallel id="g">', '</parallel>'], ['```\n', '\n```\n'], ['`', '`'], ['~~~\n', '\n~~~\n'],
] as const;

// biome-ignore format: a table
export const CODE_PIECES = [
  '`', '``', '```', '````', '~~~', '~~~~', '\n', '\n', '\n', '\r\n', ' ', '>', '> ', '- ', '1. ', 'a',
  'x\n', '\n```\n', '\n~~~\n', '\n```', '```js\n', '<thought>', '</thought>', '</thought>\n',
  '\n</thought>\n', '\n </thought> \n', '<thought/>', '<thought a="', '"', '<thought about',
  '</thought\n>', '<think b=1>', '<if test="x">', '</if>', '\n</if>\n', '<if ', '<response>',
  '</response>', '\n</response>\n', '<action>{"name":"n"}</action>', '<foreach in="$l">', '\n</foreach>\n',
] as const;

// biome-ignore format: a table
export const ATTRIBUTE_PIECES = [
  '<if ', '<if', '<else ', '<else', '<foreach ', '<parallel ', '<action ', '<metadata ', '<thought ',
  '<response ', '<response final', '<result ', '</if', '</thought ', 'test', 'in', 'as', 'id', 'final',
  'key', 'x', 'name', 'depends_on', '[', ']', '["a', '=', '=', '=', ' = ', '"', '"', "'", 'true', 'no', 'a b', SEAL, ' ', ' ', '\n', '/', '>',
  '>', '/>', '<', '&lt;', '`', '{"name":"n"}</action>', 'é',
] as const;

// biome-ignore format: a table
export const BODY_PIECES = [
  '"name"', ':', ': ', '"n"', ',', ', ', '"', '"', '\\', "'", "'a'", '{', '}', '[', ']', '1', '-1.5e3',
  'true', 'null', '\n', '\t', ' ', '//', '/*', '*/', '...', '#', ' # ', '\\.', '\\x4', '\\x41', '"name": "n"', '"a": 1', '</action>',
  '</action>\n', '</metadata>', '</metadata> \n', '<thought>', '<thought a=', '</thought>', '<if ',
  '</if x', '<b>', '```', '\n```\n', '"parameters": {"a": "', '\u2028', '\ud800', '}</action>',
  '"}</metadata>',
] as const;

// biome-ignore format: a table
export const BRANCH_PIECES = [
  '<if test="x">', '<if test="y">', '<else/>', '<else>', '</if>', '</if>', '<foreach in="$l">',
  '</foreach>', '<parallel id="x">', '<parallel id="a1">', '<parallel>', '</parallel>',
  '<action>{"name":"n"}</action>', '<action>{"name":"n"}</action>', '<action id="x">{"name":"n"}</action>',
  '<action id="a1">{"name":"n"}</action>', '<action id="a2">{"name":"n"}</action>',
  '<action id="x">{}</action>', '<thought>', '</thought>', '\n', '<response>', '</response>', 'a', '<if>',
] as const;

// biome-ignore format: a table
export const NOISE = [
  ...'<>/="\'`~\\{}[]:, \t\r\n-.&;a1$', '\ud83d', '\ude00', '\u0000', '<if', '<action>', '</action>',
  '<thought>', '</thought>',
] as const;

// biome-ignore format: a table
export const TEXT_PARTS = [
  '</action>', '</metadata>', '<thought>', '</thought>', '"', "'", '\\', '\n', '\u2028', '\u2029', '`',
  '```', '{', '}', '//', '/*', ',', '#', ' # ', '\ud800', '😀', '\u0000', '<if ', '__proto__',
] as const;

// biome-ignore format: a table
export const WHOLE_TAGS = [
  '<thought>', '</thought>', '<think>', '<response>', '</response>', '<if test="x > 1">', '<else/>',
  '</if>', '<foreach in="$l">', '</foreach>', '<parallel id="g">', '<parallel/>', '</parallel>',
  '<thought/>', '<result>', '</result>', '</action>', '<if>', '<action>', '</thought >',
] as const;
