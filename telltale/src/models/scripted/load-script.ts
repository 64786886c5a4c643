import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type Diagnostic, type Finding, MANIFEST_LIMITS, quoted } from '../../manifest/diagnostic.ts';
import { createNodeFiles, fileFinding } from '../../manifest/files.ts';
import { type OpenDocument, openDocument } from '../../manifest/open-document.ts';
import { choice } from '../../manifest/schema/choice.ts';
import { closed } from '../../manifest/schema/closed.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { orderIssues, runSchema } from '../../manifest/schema/run-schema.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import {
  count,
  countFromZero,
  duration,
  finding,
  flag,
  jsonObject,
  nonEmptyText,
  text,
} from '../../manifest/schema/values.ts';
import { decodeSource, diagnose, type SourceText } from '../../manifest/source-text.ts';
import { splitDocuments } from '../../manifest/yaml/compose-document.ts';
import type { ModelUsage } from '../model.ts';
import { MODEL_FAILURES } from '../model-errors.ts';
import type { Expectation, Script, ScriptPart, ScriptSaying, ScriptTurn } from './script.ts';

/** The largest script: a recorded session of a few million tokens. */
const MAX_SCRIPT_BYTES = 32 * 1024 * 1024;

/** Reads a `scripted:` file. `file` is relative to `folder`, and is its name in errors. */
export async function loadScript(file: string, folder: string): Promise<Script> {
  const read = await createNodeFiles().read(resolve(folder, file), MAX_SCRIPT_BYTES);
  if (!read.ok) {
    if (read.error.type === 'too_large') throw scriptTooLarge(file, read.error.bytes);
    const { code, message, hint } = fileFinding(read.error, file);
    // A path given with `--model` is not resolved from the working folder, so the hint explains that.
    const where = isAbsolute(file) || code !== 'file_missing' ? undefined : lookedFor(folder);
    throw new RuntimeError(code, message, { hint: [hint, where].filter(Boolean).join(' ') });
  }
  const decoded = decodeSource(file, read.value);
  if (!decoded.ok) throw scriptInvalid([decoded.diagnostic]);
  const { source } = decoded;
  const script = readScript(source);
  if (!script.ok) throw scriptInvalid(script.diagnostics);
  return script.script;
}

const lookedFor = (folder: string) => `Paths are relative to the folder of the agent's manifest: ${folder}.`;

/** Reports the first mistake, and how many more there are. */
function scriptInvalid(diagnostics: readonly Diagnostic[]): RuntimeError {
  const [first] = diagnostics;
  if (first === undefined) return new RuntimeError('script_invalid', 'The script cannot be read.');
  const { file, line, column, message, hint } = first;
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  const more = diagnostics.length - 1;
  const others = more === 0 ? undefined : `${more} more ${more === 1 ? 'mistake' : 'mistakes'} in this file.`;
  return new RuntimeError('script_invalid', `${place}: ${message}`, {
    hint: [hint, others].filter((part) => part !== undefined).join(' ') || undefined,
  });
}

const scriptTooLarge = (file: string, bytes: number) =>
  new RuntimeError(
    'file_too_large',
    `${quoted(file)} has ${bytes.toLocaleString('en')} bytes, but a script can have at most ${MAX_SCRIPT_BYTES.toLocaleString('en')}.`,
    { hint: 'Split it. "first_turn" sets the turn that a file begins with.' },
  );

export type ReadScript =
  | { readonly ok: true; readonly script: Script }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** Parses a script, or returns everything that is wrong with it. `${…}` in it belongs to the model's output. Pure. */
export function readScript(source: SourceText): ReadScript {
  const [part, second] = splitDocuments(source.text, 2);
  if (part === undefined) return wrong([diagnose(source, START, EMPTY)]);
  const opened = openDocument(source, part, undefined);
  if (opened === 'empty') return wrong([diagnose(source, START, EMPTY)]);
  if ('diagnostics' in opened) return wrong(opened.diagnostics);
  if (second !== undefined && second.text.trim() !== '')
    return wrong([diagnose(source, { start: second.base, end: second.base + 3 }, SECOND_DOCUMENT)]);
  const problems = opened.problems.slice(0, MANIFEST_LIMITS.diagnostics).map((problem) => problem());
  if (opened.isCut) return wrong(problems);
  const { output, issues } = runSchema(scriptSchema, opened.value);
  const placed = orderIssues(issues)
    .filter((issue) => !opened.isEcho(issue))
    .map((issue) => opened.diagnose(issue, issue));
  const diagnostics = [...problems, ...placed];
  return diagnostics.length > 0 ? wrong(diagnostics) : { ok: true, script: scriptOf(output, source, opened) };
}

const START = { start: 0, end: 1 };

const wrong = (diagnostics: readonly Diagnostic[]): ReadScript => ({ ok: false, diagnostics });

type LoadScriptWritten = z.output<typeof scriptSchema>;
type WrittenTurn = Exclude<LoadScriptWritten['turns'][number], string>;

function scriptOf(written: LoadScriptWritten, { file }: SourceText, opened: OpenDocument): Script {
  const { first_turn, tokens_per_second, chunk, loop, context_window } = written;
  return {
    turns: written.turns.map((turn, index) =>
      turnOf(typeof turn === 'string' ? { text: turn } : turn, `${file}:${opened.lineOf(['turns', index])}`),
    ),
    ...(first_turn === undefined ? {} : { firstTurn: first_turn }),
    ...(tokens_per_second === undefined ? {} : { tokensPerSecond: tokens_per_second }),
    ...(chunk === undefined ? {} : { chunk }),
    ...(loop === undefined ? {} : { loop }),
    ...(context_window === undefined ? {} : { contextWindow: context_window }),
  };
}

function turnOf(written: WrittenTurn, place: string): ScriptTurn {
  const { reasoning, tokens_per_second, chunk, delay, expect, fail_after, fail_with, finish, usage } =
    written;
  return {
    ...sayingOf(written),
    place,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(tokens_per_second === undefined ? {} : { tokensPerSecond: tokens_per_second }),
    ...(chunk === undefined ? {} : { chunk }),
    ...(delay === undefined ? {} : { delayMs: delay.ms }),
    ...(expect === undefined ? {} : { expect: expect.map(expectationOf) }),
    ...(fail_after === undefined ? {} : { failAfter: fail_after }),
    ...(fail_with === undefined ? {} : { failWith: fail_with }),
    ...(finish === undefined ? {} : { finish }),
    ...(usage === undefined ? {} : { usage: usageOf(usage) }),
  };
}

const sayingOf = ({ text = '', say }: WrittenTurn): ScriptSaying =>
  say === undefined ? { text } : { say: say.map(partOf) };

function partOf(written: NonNullable<WrittenTurn['say']>[number]): ScriptPart {
  if (typeof written === 'string') return written;
  const { call, id, input, meta, cut } = written;
  return {
    call,
    ...(id === undefined ? {} : { id }),
    ...(input === undefined ? {} : { input }),
    ...(meta === undefined ? {} : { meta }),
    ...(cut === true ? { cut } : {}),
  };
}

const expectationOf = (written: NonNullable<WrittenTurn['expect']>[number]): Expectation => {
  if (typeof written === 'string') return { contains: written };
  const { contains, not_contains } = written;
  return contains === undefined ? { notContains: not_contains ?? '' } : { contains };
};

const usageOf = ({ input, output, cached, written }: NonNullable<WrittenTurn['usage']>): ModelUsage => ({
  input,
  output,
  ...(cached === undefined ? {} : { cached }),
  ...(written === undefined ? {} : { written }),
});

const EMPTY: Finding = {
  severity: 'error',
  code: 'empty_file',
  message: 'The script is empty.',
  hint: 'Write what the model says: "turns:" with a list of texts.',
};

const SECOND_DOCUMENT: Finding = {
  severity: 'error',
  code: 'too_many_documents',
  message: 'A script is one document, but a second one begins here.',
  hint: 'Delete the "---", or move the rest into a separate file.',
};

/** A value that is either text or a map. `title` starts the message about anything else. */
function textOrMap<Text extends z.core.$ZodType, Map extends z.core.$ZodType>(
  title: string,
  asText: Text,
  asMap: Map,
  hint = 'Put text that looks like a number in quotes.',
): z.ZodUnion<[Text, Map]> {
  return choice([asText, asMap], (value) => {
    if (typeof value === 'string') return asText;
    if (isMap(value)) return asMap;
    const message = `${title} has to be text or a map, but is ${showValue(value)}.`;
    return { refused: { code: 'wrong_type', message, hint } };
  });
}

const call = closed(
  {
    title: 'a call',
    atMostOne: [['cut', 'meta']],
    slips: {
      name: 'Did you mean "call"? Its value is the name of the tool.',
      tool: 'Did you mean "call"? Its value is the name of the tool.',
      parameters: 'Did you mean "input"?',
      arguments: 'Did you mean "input"?',
      text: 'Write prose as a separate part without a key: say: [I look it up., { call: … }].',
      output: 'Remove it. The runtime runs the tool, so its answer is not scripted.',
      mode: 'Put it into the input: input: { _run: { mode: … } }.',
      depends_on: 'Put it into the input: input: { _run: { depends_on: […] } }.',
    },
  },
  {
    call: nonEmptyText('The name of the tool that is called.'),
    id: nonEmptyText("The provider's id of the call: call_TURN_N by default.").optional(),
    input: textOrMap(
      'The input of a call',
      text('The input as the model streams it, JSON or not.'),
      jsonObject('The input: {} by default.'),
      'Write a map, or text, which is streamed as it is.',
    ).optional(),
    meta: jsonObject('What the provider wants to see again with the call.').optional(),
    cut: flag('Whether the stream breaks off in the input.').optional(),
  },
);

const part = textOrMap('A part of what is said', text('Prose.'), call);

/** The output of a model, in parts. */
const scriptParts = () =>
  z
    .array(part)
    .min(1)
    .check((ctx) => {
      const seen = new Set<string>();
      for (const [index, each] of ctx.value.entries()) {
        if (typeof each === 'string') continue;
        if (each.cut === true && index < ctx.value.length - 1)
          ctx.issues.push(finding(each, CUT_TOO_EARLY, [index, 'cut']));
        if (each.id === undefined) continue;
        if (seen.has(each.id)) ctx.issues.push(finding(each, repeatedId(each.id), [index, 'id']));
        seen.add(each.id);
      }
    })
    .meta({
      description: 'What the model says in parts: prose, and calls of tools.',
      expects: 'a list of one part or more',
    });

const CUT_TOO_EARLY = {
  code: 'not_allowed',
  message: 'Only the last part of a turn can be cut.',
  hint: 'Nothing can follow a stream that was cut. Delete "cut", or what follows.',
  at: 'key',
} as const;

const repeatedId = (id: string) => ({
  code: 'not_allowed',
  message: `Two calls of this turn have the id ${quoted(id)}.`,
  hint: 'Give each call its own id, or none. Then they are numbered.',
});

const tokensPerSecond = () =>
  z.number().positive().meta({
    description: 'How fast it speaks; a token is four characters. Without it everything comes at once.',
    expects: 'a number above zero',
  });
const chunk = () => count('Characters that come at a time: 4 by default.');

const expectation = textOrMap(
  'An expectation',
  nonEmptyText('What must stand in what the model was told since it last spoke.'),
  closed(
    {
      title: 'an expectation',
      exactlyOne: [['contains', 'not_contains']],
      slips: {
        matches: 'Patterns are not supported here. Use "contains" or "not_contains".',
        regex: 'Patterns are not supported here. Use "contains" or "not_contains".',
      },
    },
    {
      contains: nonEmptyText('What must stand there.').optional(),
      not_contains: nonEmptyText('What must not stand there.').optional(),
    },
  ),
);

const turnMap = closed(
  {
    title: 'a turn',
    exactlyOne: [['text', 'say']],
    demands: { fail_with: ['fail_after'] },
    slips: {
      turns: 'Put it at the top of the file.',
      loop: 'Put it at the top of the file.',
      call: 'Put a call into "say": say: [{ call: … }].',
    },
  },
  {
    text: text('What the model says.').optional(),
    say: scriptParts().optional(),
    reasoning: text("The provider's own reasoning, before the text.").optional(),
    tokens_per_second: tokensPerSecond().optional(),
    chunk: chunk().optional(),
    delay: duration('Before the first character.').optional(),
    expect: z.array(expectation).meta({ expects: 'a list' }).optional(),
    fail_after: countFromZero('The stream breaks off after so many characters.').optional(),
    fail_with: z.enum(MODEL_FAILURES).describe('What it breaks off with.').optional(),
    finish: z.enum(['stop', 'length']).describe('Why it ends.').optional(),
    usage: closed(
      { title: '"usage"' },
      {
        input: countFromZero('Tokens of the prompt.'),
        output: countFromZero('Tokens of the answer.'),
        cached: countFromZero('Tokens of the prompt that came from a cache.').optional(),
        written: countFromZero('Tokens of the prompt that were written to a cache.').optional(),
      },
    ).optional(),
  },
);

/** A `scripted:` file. */
const scriptSchema = closed(
  {
    title: 'a script',
    slips: {
      text: 'Put it into a turn: turns: [{ text: … }].',
      expect: 'Put it into a turn.',
      fail_after: 'Put it into a turn.',
      delay: 'Put it into a turn.',
      usage: 'Put it into a turn.',
    },
  },
  {
    turns: z
      .array(textOrMap('A turn', text('What the model says.'), turnMap))
      .min(1)
      .meta({ description: 'What the model says, turn by turn.', expects: 'a list of one turn or more' }),
    first_turn: count('The turn of the session that the list begins with: 1 by default.').optional(),
    tokens_per_second: tokensPerSecond().optional(),
    chunk: chunk().optional(),
    loop: flag('Whether it begins again after the last turn.').optional(),
    context_window: count('Tokens the model says it can read.').optional(),
  },
);

/**
 * The JSON Schema (2020-12) of a `scripted:` file, for editors. Generated from the definition that `readScript` uses.
 */
export function scriptJsonSchema(): JsonObject {
  const { $schema, ...rest } = z.toJSONSchema(scriptSchema, {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      delete jsonSchema.expects;
    },
  });
  const schema = { $schema, $id: 'urn:telltale:schema:Script', title: 'Telltale script', ...rest };
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}
