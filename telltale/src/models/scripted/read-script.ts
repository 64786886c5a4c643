import type { z } from 'zod';
import type { Diagnostic, Finding } from '../../manifest/diagnostic.ts';
import { MANIFEST_LIMITS } from '../../manifest/limits.ts';
import { type OpenDocument, openDocument } from '../../manifest/open-document.ts';
import { orderIssues } from '../../manifest/schema/order-issues.ts';
import { runSchema } from '../../manifest/schema/run-schema.ts';
import { diagnose, type SourceText } from '../../manifest/source-text.ts';
import { splitDocuments } from '../../manifest/yaml/split-documents.ts';
import type { ModelUsage } from '../model.ts';
import type { Expectation, Script, ScriptPart, ScriptSaying, ScriptTurn } from './script.ts';
import { scriptSchema } from './script-schema.ts';

export type ReadScript =
  | { readonly ok: true; readonly script: Script }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** Source text → a script, or everything that is wrong with it. `${…}` in it is the model's, not a variable. Pure. */
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

type Written = z.output<typeof scriptSchema>;
type WrittenTurn = Exclude<Written['turns'][number], string>;

function scriptOf(written: Written, { file }: SourceText, opened: OpenDocument): Script {
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
