// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of other languages

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Dialect } from '../../src/parser/dialect-parser.ts';
import { moreRuns } from '../more-runs.ts';
import { runAgent, tool } from './run-agent.ts';
import { type Deed, speak } from './speak.ts';

const DIALECTS: readonly Dialect[] = ['tags', 'tools', 'step'];

/** What the session knows under the names that the texts use. */
const USER = { name: 'Ada', text: 'see $user.name, {{user.name}} and $$' };
const KNOWN: readonly Deed[] = [
  { call: 'who', run: { id: 'user', mode: 'sync', output_key: 'item' } },
  { call: 'who', run: { id: 'name', mode: 'sync', output_key: 'body' } },
];

/** Writes the files, and reads them back from the disk as they have arrived. */
async function written(dialect: Dialect, texts: readonly string[]) {
  const writes = texts.map(
    (content, n): Deed => ({ call: 'filesystem', input: { operation: 'write', path: `out/${n}`, content } }),
  );
  const ran = await runAgent({
    manifest: `
dialect: ${dialect}
import: { tools: [./tools/*.yml, "builtin:filesystem"] }
permissions: { paths: ["."] }
context_variables: { runtime: [{ name: HOME, type: string, default: /root }] }
`,
    files: tool('who', `return ${JSON.stringify(USER)};`),
    turns: [speak(dialect, [...KNOWN, ...writes]), speak(dialect, [{ respond: 'Written.' }])],
  });
  expect(ran.result).toMatchObject({ status: 'completed', result: 'Written.' });
  const faults = ran.of('fault').map(({ code }) => code);
  return { faults, files: texts.map((_, n) => readFileSync(join(ran.folder, `out/${n}`), 'utf8')) };
}

const TEXTS = {
  Makefile: 'all: $(OBJS)\n\t$(CC) -o $@ $^ $<\n\t@echo $$user $${name} $$$$ $$(id)\n',
  SQL: "CREATE FUNCTION f() RETURNS text AS $$ SELECT '$user' $$ LANGUAGE sql;\nDO $body$ BEGIN END $body$;\nSELECT $1, $name",
  PHP: '<?php\n$user = $_GET["name"];\necho "$user {$user->name} ${name} \\$user";\n',
  shell:
    '#!/bin/sh\nfor item in "$@"; do echo "$item" "${name%.*}" $(id "$user") $$ $? $HOME $name; done\nawk \'{ print $1 }\'',
  JSX: 'const A = ({ user }) => <p style={{ color: user.name }} {...item}>{user.name} ${`$${name}`}</p>;',
  jq: '.items[] | . as $item | {user: $user.name, $name} | select($name != "\\($item)")',
  Jinja:
    '{% for item in items %}{{ item }} {{ item.name|e }} {{- user.name -}} {{user .name}}{% endfor %} {{ "{{" }}',
  Handlebars:
    '{{#each item}}{{ this }}{{/each}} {{> user}} {{&name}} {{{ body }}} {{!-- $user --}} {{absent}}',
  regex: '^\\$name$|\\d{2}}$|(?<user>\\$)$',
};

describe.each(DIALECTS)('what a model writes into a file, in the dialect %s', (dialect) => {
  it('arrives as it was written: Makefiles, SQL, PHP, shell, JSX, jq and templates', async () => {
    const { files, faults } = await written(dialect, Object.values(TEXTS));
    expect(files).toEqual(Object.values(TEXTS));
    expect(faults).toEqual([]);
  });

  it('has values where it says so, in one pass', async () => {
    const { files, faults } = await written(dialect, [
      'Dear {{user.name}}, {{name.text}}',
      '$user.text',
      '{{item.name}}/{{body.name}}: {{user}}',
    ]);
    expect(files).toEqual([`Dear Ada, ${USER.text}`, USER.text, `Ada/Ada: ${JSON.stringify(USER)}`]);
    expect(faults).toEqual([]);
  });

  it('arrives as it was written, whatever it is made of', async () => {
    const unit = fc.oneof(
      fc.constantFrom(...Object.values(TEXTS).flatMap((text) => text.split(/(?<=[ \n])/))),
      fc.constantFrom(
        '$',
        '$$',
        '$user',
        '{{ user }}',
        '{{',
        '}}',
        '{',
        '}',
        '\\',
        '"',
        "'",
        '\n',
        '\t',
        '`',
        '</action>',
      ),
    );
    const text = fc
      .array(unit, { minLength: 1, maxLength: 30 })
      .map((parts) => parts.join(''))
      .filter((made) => !/^\$[\w.-]+$/.test(made) && !/\{\{[\w.-]+\}\}/.test(made));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 8, maxLength: 8 }), async (texts) => {
        const { files } = await written(dialect, texts);
        expect(files).toEqual(texts);
      }),
      { numRuns: moreRuns(8) },
    );
  });
});
