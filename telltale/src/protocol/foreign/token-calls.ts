import { parametersOf, withFields } from './json-calls.ts';
import { type Found, isCallName, type Source } from './source.ts';

/**
 * Formats that mark calls with tokens of the chat template: DeepSeek's and Kimi's sections, OpenAI's harmony,
 * Mistral's brackets. The tokens turn up as text where a server does not know the model's format.
 */
const SECTION =
  /<[|｜]tool[▁_]call[▁_]begin[|｜]>\s{0,32}(?:function\s{0,32}<｜tool▁sep｜>)?\s{0,32}([A-Za-z_][\w.:/-]{0,127}?)(?::\d{1,6})?\s{0,32}(?:<[|｜]tool(?:▁sep|_sep|_call_argument_begin)[|｜]>)?\s{0,32}(?:```(?:json)?\s{0,32})?(?=\{)/y;
const SECTION_END = /\s{0,32}(?:```)?\s{0,32}<[|｜]tool[▁_]call[▁_]end[|｜]>/y;

const HARMONY =
  /(?:<\|start\|>\s{0,8}assistant)?\s{0,8}(?:to=([\w.:/-]{1,160}))?\s{0,8}<\|channel\|>\s{0,8}(analysis|commentary|final)?[^<]{0,16}?(?:\s{0,8}to=([\w.:/-]{1,160}))?[^<]{0,32}(?:<\|constrain\|>[^<]{0,16})?<\|message\|>/y;
const HARMONY_END = /\s{0,32}<\|(?:call|end|return)\|>/y;

/** `[TOOL_CALLS]search{"q": "x"}`, `[TOOL_CALLS]search[CALL_ID]1[ARGS]{"q": "x"}` */
const MISTRAL =
  /\[TOOL_CALLS\]\s{0,32}([A-Za-z_][\w.:/-]{0,127})\s{0,8}(?:\[CALL_ID\][\w-]{0,64})?(?:\[ARGS\])?\s{0,32}(?=\{)/y;

/** The call whose token stands at `at`. */
export function readTokenCall(source: Source, at: number): Found | undefined {
  const named = source.match(SECTION, at) ?? source.match(MISTRAL, at);
  if (named !== null) return readNamed(source, named[1], at + named[0].length, SECTION_END);
  const harmony = source.match(HARMONY, at);
  const recipient = harmony?.[1] ?? harmony?.[3];
  if (harmony === null || recipient === undefined) return undefined;
  return readNamed(source, recipient, at + harmony[0].length, HARMONY_END);
}

/** Where the reasoning ends that a token at `at` begins. */
export function endOfTokenReasoning(source: Source, at: number): number | undefined {
  const harmony = source.match(HARMONY, at);
  if (harmony === null || harmony[2] !== 'analysis') return undefined;
  const from = at + harmony[0].length;
  const ends = ['<|end|>', '<|start|>', '<|channel|>'].map((mark) => source.find(mark, from));
  const found = ends.filter((end) => end !== -1);
  return found.length === 0 ? source.text.length : Math.min(...found);
}

function readNamed(
  source: Source,
  name: string | undefined,
  from: number,
  closer: RegExp,
): Found | undefined {
  const at = source.skipSpace(from);
  const read = source.text[at] === '{' ? source.json(at) : undefined;
  const parameters = read && parametersOf(read.value, true);
  if (read === undefined || parameters === undefined || !isCallName(name)) return undefined;
  const end = read.end + (source.match(closer, read.end)?.[0].length ?? 0);
  return { calls: [withFields(name, parameters, {})], form: 'tokens', end };
}
