import { suggest } from '../../lib/nearest.ts';
import { parseByteSize } from '../../lib/quantity.ts';
import type { ParserEvent, Place, TagParserOptions } from '../../parser/index.ts';
import { EXIT, type ExitCode, type RegisterCommand } from '../command.ts';
import type { Io } from '../io.ts';
import { usage } from '../options.ts';
import { cutText, readText } from '../parse/read-text.ts';
import { jsonText } from '../view/json-text.ts';

interface ParseOptions {
  readonly chunk?: string;
  readonly options?: string;
  readonly json?: true;
}

const EXAMPLES = `
Without --chunk, text that belongs together is one event. With --chunk N, the parser gets
N characters at a time and prints what each piece makes certain, as the runtime sees it.

Examples:
  $ telltale parse transcript.txt
  $ telltale parse --chunk 1 transcript.txt | jq -c 'select(.type == "fault")'
  $ telltale parse --options '{"actions_in": ["outside"]}' -  < transcript.txt
`;

export const registerParse: RegisterCommand = (program, { io, run }) => {
  program
    .command('parse')
    .summary("print how Telltale reads a model's output")
    .description(
      "Reads a transcript of a model's output and prints the parser's events, one JSON object per line.",
    )
    .argument('[file]', 'the transcript, or "-" for standard input', '-')
    .option('--chunk <n>', 'feed the parser n characters at a time')
    .option('--options <json>', "the parser's options: max_body, actions_in, key, ids")
    .option('--json', 'accepted for symmetry: events are JSON anyway')
    .addHelpText('after', EXAMPLES)
    .action(run((file: string, options: ParseOptions) => parse(file, options, io)));
};

async function parse(file: string, options: ParseOptions, io: Io): Promise<ExitCode> {
  const { createTagParser } = await import('../../parser/index.ts');
  const size = options.chunk === undefined ? undefined : chunkSize(options.chunk);
  const parser = createTagParser(readParserOptions(options.options));
  if (file === '-' && io.stdin.isTerminal)
    await io.stderr.write('Reading from the terminal; end with Ctrl-D.\n');
  const print = createPrinter(io, size === undefined);
  const text = readText(file, io);
  for await (const piece of size === undefined ? text : cutText(text, size)) {
    if (io.stdout.closed) return EXIT.ok;
    await print(parser.push(piece));
  }
  await print(parser.end());
  await print.flush();
  return EXIT.ok;
}

type TextEvent = Extract<ParserEvent, { readonly text: string }>;

function createPrinter({ stdout }: Io, joins: boolean) {
  let open: { readonly event: TextEvent; readonly parts: string[] } | undefined;
  const close = (): string => {
    if (open === undefined) return '';
    const line = jsonText({ ...open.event, text: open.parts.join('') });
    open = undefined;
    return line;
  };
  const take = (event: ParserEvent): string => {
    if (!joins || !('text' in event)) return `${close()}${jsonText(event)}`;
    if (open?.event.type === event.type) {
      open.parts.push(event.text);
      return '';
    }
    const before = close();
    open = { event, parts: [event.text] };
    return before;
  };
  const print = (events: readonly ParserEvent[]) => stdout.write(events.map(take).join(''));
  return Object.assign(print, { flush: () => stdout.write(close()) });
}

function chunkSize(text: string): number {
  const size = Number(text);
  if (Number.isInteger(size) && size > 0) return size;
  throw usage(
    `--chunk '${text}' is not a whole number above 0.`,
    'Write --chunk 4 for four characters at a time.',
  );
}

const KEYS = ['max_body', 'actions_in', 'key', 'ids'] as const;
const PLACES: readonly string[] = ['outside', 'thought', 'response'];
const EXAMPLE = `Write it like '{"actions_in": ["outside"], "max_body": "64KiB", "key": "k9", "ids": ["a1"]}'.`;

/** Reads `--options JSON`. A mistake in it is a usage error that names the key. */
export function readParserOptions(json: string | undefined): TagParserOptions {
  if (json === undefined) return {};
  const given = readObject(json);
  for (const key of Object.keys(given)) {
    if (!KEYS.includes(key as never)) throw usage(`--options has no "${key}".`, suggest(key, KEYS));
  }
  const { max_body, actions_in, key, ids } = given;
  return {
    ...(max_body === undefined ? {} : { max_body: maxBody(max_body) }),
    ...(actions_in === undefined ? {} : { actions_in: places(actions_in) }),
    ...(key === undefined ? {} : { key: sealKey(key) }),
    ids: new Set(ids === undefined ? [] : texts('ids', ids)),
  };
}

function readObject(json: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (thrown) {
    throw usage(`--options is not JSON: ${(thrown as Error).message}.`, EXAMPLE);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw usage('--options is not a JSON object.', EXAMPLE);
  }
  return value as Record<string, unknown>;
}

function maxBody(value: unknown): number {
  if (typeof value !== 'number' && typeof value !== 'string')
    throw wrong('max_body', 'a number of characters');
  const size = parseByteSize(value);
  if (!size.ok) throw usage(`"max_body" in --options: ${size.error.message}`, size.error.hint ?? EXAMPLE);
  return size.value;
}

function places(value: unknown): readonly Place[] {
  const named = texts('actions_in', value);
  for (const place of named) {
    if (!PLACES.includes(place))
      throw usage(`"actions_in" in --options has "${place}".`, suggest(place, PLACES));
  }
  return named as readonly Place[];
}

function sealKey(value: unknown): string {
  const key = text('key', value);
  if (key === '') throw usage('"key" in --options is empty.', 'Leave it out for a session without a seal.');
  return key;
}

function texts(key: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw wrong(key, 'a list of strings');
  return value.map((each) => text(key, each));
}

function text(key: string, value: unknown): string {
  if (typeof value !== 'string') throw wrong(key, key === 'key' ? 'a string' : 'a list of strings');
  return value;
}

const wrong = (key: string, mustBe: string) => usage(`"${key}" in --options must be ${mustBe}.`, EXAMPLE);
