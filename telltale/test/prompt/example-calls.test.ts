import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createCallNames } from '../../src/parser/calls/call-names.ts';
import { createTagParser } from '../../src/parser/tags/tag-parser.ts';
import {
  type Callable,
  DIALECTS,
  type Dialect,
  FOLDER,
  inDialect,
  prepared,
  TYPICAL,
} from './typical-agents.ts';

const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url));

interface Call {
  readonly kind: string;
  readonly name: string;
  readonly parameters: JsonObject;
}

/** The calls of the example in a prompt, read as a turn of the model would be. */
function callsOf({ opening, targets }: Callable, dialect: Dialect): readonly Call[] {
  const text = opening.systemParts.find(({ name }) => name === 'example')?.text ?? '';
  if (text === '') return [];
  const names = createCallNames(targets);
  const native = (name: string, parameters: JsonObject): Call => ({
    ...(names.find(name) ?? { kind: 'tool', name }),
    parameters,
  });
  switch (dialect) {
    case 'tags': {
      const turns =
        /^Example of a turn:\n\n([\s\S]*)\n\nThe next message:\n\n[\s\S]*\n\nYour next turn:\n\n([\s\S]*)$/.exec(
          text.trimEnd(),
        );
      return [turns?.[1] ?? '', turns?.[2] ?? ''].flatMap((turn) => {
        const parser = createTagParser();
        const events = [...parser.push(turn), ...parser.end()];
        expect(events.filter(({ type }) => type === 'fault')).toEqual([]);
        return events.flatMap((event) =>
          event.type === 'action'
            ? [{ kind: event.kind ?? 'tool', name: event.name ?? '', parameters: event.parameters }]
            : [],
        );
      });
    }
    case 'tools': {
      const [, name = '', input = '', last = '', end = ''] =
        /^Example: (\S+) (.*) returns\n\n[\s\S]*\n\nThen: (\S+) (.*)$/.exec(text.trimEnd()) ?? [];
      const { _run: run, ...parameters } = JSON.parse(input) as Record<string, Json>;
      expect(run).toEqual({ id: expect.any(String) });
      const calls = [native(name, parameters)];
      return last === 'respond' ? calls : [...calls, native(last, JSON.parse(end))];
    }
    case 'step': {
      const [, step = ''] = /^Example of a call of "step":\n\n(.*)$/m.exec(text) ?? [];
      const { tool_calls: calls } = JSON.parse(step) as {
        tool_calls: { name: string; input: Record<string, Json> }[];
      };
      return calls.map(({ name, input }) => native(name, input));
    }
  }
}

/** Every agent of a folder, with the file it stands in. */
const agentsOf = (folder: string): readonly (readonly [string, string])[] =>
  globSync('**/*.yml', { cwd: folder })
    // These two are wrong on purpose.
    .filter((file) => !/^(?:broken|first-manifest)\b/.test(file))
    .sort()
    .flatMap((file) =>
      parseAllDocuments(readFileSync(join(folder, file), 'utf8')).flatMap((document) => {
        const { kind, name } = (document.toJS() ?? {}) as { kind?: string; name?: string };
        return kind === 'Agent' && name !== undefined ? [[file, name] as const] : [];
      }),
    );

/** Agents that call something, and whose prompts must have an example. */
const CALLING: ReadonlySet<string> = new Set(TYPICAL);

describe.each([
  ['typical agents', FOLDER, agentsOf(FOLDER)],
  ['the examples', EXAMPLES, agentsOf(EXAMPLES)],
] as const)('the call in the prompt of %s', (_, folder, agents) => {
  it.each(agents)('%s, %s, is one that its schema allows, in each dialect', async (file, name) => {
    const path = join(folder, file);
    const agent = await loadAgent(basename(path), { cwd: dirname(path), name });
    for (const dialect of DIALECTS) {
      const callable = await prepared(inDialect(agent, dialect));
      const calls = callsOf(callable, dialect);
      if (CALLING.has(name)) expect(calls.length).toBeGreaterThan(0);
      for (const { kind, name: called, parameters } of calls) {
        const target = callable.targets.find((each) => each.kind === kind && each.name === called);
        expect(target, `${kind} ${called}`).toBeDefined();
        expect(target?.check(parameters)).toBeUndefined();
      }
    }
  });
});
