import { suggest } from '../../lib/nearest.ts';
import { BODY_FIELDS } from '../envelope/envelope.ts';
import { isId } from '../envelope/ids.ts';
import type { FaultCode, ParserEvent, Place } from '../intents.ts';
import { brokenBehind, LARGE_NUMBER } from '../json/tolerant-json.ts';
import type { BodyTag, ElementName, TagName } from './names.ts';
import { MAX_TAG } from './tag-scan.ts';

export type Fault = Extract<ParserEvent, { type: 'fault' }>;

// Each message is read by the model in its next turn: what was seen, why it does not count, what to write instead.
const fault = (code: FaultCode, message: string): Fault => ({ type: 'fault', code, message });

const clip = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

/** The same, naming the action that it is about, where that has an id of its own. */
export const aboutAction = (id: string | undefined, fault: Fault): Fault =>
  id === undefined || !isId(id) || fault.code === 'duplicate_id'
    ? fault
    : { ...fault, message: `Action "${clip(id)}": ${fault.message}` };

export const noBody = (tag: BodyTag) =>
  fault(
    'no_body',
    `<${tag}> without a JSON object after it was taken as text. To act, write <${tag}>{…}</${tag}>; to write about the tag, put it in \`backticks\`.`,
  );

export const emptyInProse = () =>
  fault(
    'no_body',
    'An <action name="…"> without a JSON object, in the midst of a line, was taken as text. To run it, put it on a line of its own, or write <action name="…">{…}</action>; to write about it, put it in `backticks`.',
  );

export const tagTooLong = (name: TagName | undefined) =>
  fault(
    'tag_too_long',
    `${name === undefined ? 'A tag' : `<${name}>`} without ">" in ${MAX_TAG} characters was taken as text. Close the tag, and put long values into the body.`,
  );

export const fenceLeftOpenAt = (name: ElementName) =>
  fault(
    'fence_left_open',
    `</${name}> came while a code fence was open, so the fence was closed with it. What follows in this turn may be quotation and does not act. Close every fence with a line of its own before </${name}>.`,
  );

export const fenceLeftOpen = () =>
  fault('fence_left_open', 'The turn ended inside a code fence. Close every fence with a line of its own.');

export const notInResponse = (name: TagName) =>
  fault(
    'not_in_response',
    `<${name}> inside a response was taken as text: a response holds only prose. Close it with </response> first, or put a quoted tag in \`backticks\`.`,
  );

export const notHere = (name: TagName, place: Place, actionsIn: readonly Place[]) =>
  fault(
    'not_here',
    `<${name}> ${WHERE[place]} does not count in this session and was taken as text. ${
      actionsIn.length === 0
        ? 'Nothing that acts does: answer in prose.'
        : `Write it ${actionsIn.map((counts) => WHERE[counts]).join(', or ')}.`
    }`,
  );

const WHERE: Readonly<Record<Place, string>> = {
  outside: 'outside a thought or response',
  thought: 'inside a thought',
  response: 'inside a response',
};

export const responseNotHere = () =>
  fault(
    'not_here',
    'A <response> in the middle of a line of a thought, foreach or parallel was taken as text. Close what is open, then write <response> at the start of a line.',
  );

export const controlInForeach = (name: TagName) =>
  fault(
    'not_here',
    `<${name}> cannot stand inside a <foreach>, which holds only actions; it was taken as text, and what follows in this turn does not act. Use an action's "if" field instead, or put the <foreach> inside the <${name}>.`,
  );

export const strayClose = (name: TagName) =>
  fault(
    'stray_close',
    `</${name}> closes nothing that is open and was taken as text. If a tag was meant, open it first; a quoted one goes in \`backticks\`.`,
  );

export const strayElse = () =>
  fault(
    'stray_close',
    'An <else/> that belongs to no open <if> (or is its second) was taken as text, and what follows in this turn does not act. Write <if test="…">…<else/>…</if>.',
  );

export const thoughtLeftOpen = () =>
  fault(
    'thought_left_open',
    'A <thought> was still open when what is around it ended, or a response began, and was closed there. Write </thought> first.',
  );

export const leftOpen = (name: ElementName) =>
  fault(
    'truncated',
    `<${name}> was still open when what is around it ended, and was closed there${name === 'foreach' ? '; its actions did not run' : ''}. Write </${name}>.`,
  );

export const truncated = (name: ElementName) =>
  fault('truncated', `The turn ended before </${name}>. Write it again if it matters, and close it.`);

export const truncatedBody = (tag: BodyTag) =>
  fault('truncated', `The turn ended before </${tag}>, so it did not act. Write it again, whole.`);

export const badJson = (tag: BodyTag, body: string) =>
  fault(
    'bad_json',
    `The body of <${tag}> is no JSON object that can be read, so it did not act. Write one object: double quotes, \\" for a quote and \\n for a line break inside strings.${brokenBehind(body)}`,
  );

export const notFinite = (tag: BodyTag) =>
  fault(
    'bad_json',
    `The body of <${tag}> did not act: a number in it is too large to be kept. ${LARGE_NUMBER}`,
  );

export const brokenBody = (tag: BodyTag) =>
  fault(
    'bad_json',
    `The body of <${tag}> does not end where it should: a closing quote or </${tag}> is missing. It did not act, and nothing after it in this turn acts, since that may be part of it. Write it again, whole.`,
  );

export const bodyTooLarge = (tag: BodyTag, maxBody: number) =>
  fault(
    'body_too_large',
    `The body of <${tag}> has more than ${maxBody} characters, so it did not act. Send less, or in parts.`,
  );

export const badAction = (problem: string) => fault('bad_action', `An <action> did not run: ${problem}`);

export const unreadableAttributes = (name: TagName) =>
  fault(
    'bad_attribute',
    `The attributes of <${name}> cannot be read, so it does not count. Write them as a="v", with white space between them and every quote closed.`,
  );

export const repeatedAttribute = (name: TagName, attribute: string) =>
  fault(
    'bad_attribute',
    `<${name}> has the attribute "${clip(attribute)}" twice, so it does not count. Write it once.`,
  );

export const unknownAttribute = (name: TagName, attribute: string, known: readonly string[]) =>
  fault(
    'bad_attribute',
    name === 'action' && BODY_FIELDS.includes(attribute)
      ? `"${attribute}" is no attribute of <action>, so it did not run. It goes into the JSON: <action>{"name": "…", "${attribute}": …}</action>.`
      : `<${name}> has no attribute "${clip(attribute)}"${name === 'action' || name === 'metadata' ? ', so it did not act' : ''}. ${suggest(attribute, known)}`,
  );

export const badValue = (name: TagName, attribute: string, value: string, allowed: string) =>
  fault(
    'bad_attribute',
    `${attribute}="${clip(value)}" is not allowed on <${name}>${name === 'action' ? ', so it did not run' : ''}. Allowed: ${allowed}.`,
  );

export const badFinal = (value: string) =>
  fault(
    'bad_attribute',
    `final="${clip(value)}" on <response> is neither true nor false and counts as false. Write final="true" or final="false".`,
  );

export const controlUnread = (name: TagName, lacks: string | undefined) =>
  fault(
    'bad_attribute',
    `<${name}> ${lacks === undefined ? 'cannot be read' : `has no ${lacks}`}, so it was taken as text, and nothing after it in this turn acts, since it may have been guarded by it. Write ${CONTROL_FORM[name] ?? `<${name}>`}.`,
  );

const CONTROL_FORM: Partial<Record<TagName, string>> = {
  if: '<if test="…">…<else/>…</if>',
  else: '<else/>',
  foreach: '<foreach in="$list" as="item">…</foreach>',
  parallel: '<parallel id="…">…</parallel>',
};

export const duplicateId = (id: string) =>
  fault(
    'duplicate_id',
    `The id "${clip(id)}" is taken already, so the action did not run. Choose another, or leave it out.`,
  );

export const duplicateGroupId = (id: string) =>
  fault(
    'duplicate_id',
    `The id "${clip(id)}" is taken already, so the <parallel> counts without one. Choose another.`,
  );

export const reservedTag = (name: TagName) =>
  fault(
    'reserved_tag',
    `<${name}> is the runtime's to write; from you it is text. Results and feeds come in the next turn by themselves.`,
  );

export const inDoubt = (name: TagName) =>
  fault(
    'in_doubt',
    `<${name}> did not act: an earlier mistake in this turn left it unclear whether it was meant or quoted. Fix that one and write this again.`,
  );

export const unsealed = (name: TagName) =>
  fault(
    'unsealed',
    `<${name}> without this session's key was taken as text. Write <${name} key="…"> with the key you were given.`,
  );
