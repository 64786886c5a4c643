import { z } from 'zod';
import { parseJsonPath } from '../json-path/parse-json-path.ts';
import { cel } from './cel.ts';
import { choiceByKey } from './choice.ts';
import { closed } from './closed.ts';
import { finding } from './finding.ts';
import { nonEmptyText } from './names.ts';
import { count } from './numbers.ts';
import { pattern } from './pattern.ts';

const link = <Key extends string, Value extends z.core.$ZodType>(key: Key, value: Value) =>
  closed({ title: `a "${key}" transformation` }, { [key]: value } as Record<Key, Value>);

/** One link of the chain that a feed's value passes through. */
const transformation = choiceByKey('A transformation', {
  cel: link('cel', cel('CEL over "value".')),
  jsonpath: link(
    'jsonpath',
    z
      .string()
      .check((ctx) => {
        const parsed = parseJsonPath(ctx.value);
        if (!parsed.ok) ctx.issues.push(finding(ctx.value, { code: 'bad_path', ...parsed.error }));
      })
      .meta({
        description: 'A JSONPath into the value ($.items[*].name).',
        pattern: '^\\$',
        expects: 'a JSONPath, which begins with "$", like "$.items[*].name"',
      }),
  ),
  head: link('head', count('The first lines or items.')),
  tail: link('tail', count('The last lines or items.')),
  lines: link('lines', pattern('A regular expression (RE2): only lines it is found in.')),
  template: link('template', nonEmptyText('Text with {value} in it.')),
});

export const feedTransform = z
  .array(transformation)
  .describe('A chain of cel, jsonpath, head, tail, lines, template.');
