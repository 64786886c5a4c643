import type { Json } from '../../kernel/json.ts';
import { badFinalValue, callBadJson, callNotFinite, noText } from '../calls/call-faults.ts';
import { RESPOND } from '../calls/call-names.ts';
import { closeResponse, sayWhole } from '../calls/say.ts';
import { createMemberScan, endMembers, type MemberScan, scanMembers } from '../json/member-scan.ts';
import { parseValue, strictJson } from '../json/parse-value.ts';
import { readObject } from '../json/read-object.ts';
import { emit, type Output } from '../prose/output.ts';

/** A call of `respond {text, final?, output?}`: its text streams while its input does. */
export interface Respond {
  readonly scan: MemberScan;
  /** Of `text`: not begun, open, or complete. A second one is not read. */
  text: 'none' | 'open' | 'whole';
  /** What `final` was when the response opened. */
  opened: boolean;
  /** Members that are complete. */
  readonly members: Map<string, Json>;
  bad: boolean;
}

const STREAMED = new Set(['text']);
const NONE = new Set<string>();

export const createRespond = (): Respond => ({
  scan: createMemberScan(STREAMED, NONE),
  text: 'none',
  opened: true,
  members: new Map(),
  bad: false,
});

/** Takes more of the input; `at` is its offset in the turn. */
export function hearRespond(respond: Respond, output: Output, input: string, at: number): void {
  const { scan } = respond;
  for (let from = 0; from < input.length; ) {
    const { found, to } = scanMembers(scan, input, from);
    from = to;
    switch (found) {
      case 'opened':
        if (respond.text !== 'none') break;
        respond.text = 'open';
        respond.opened = finalOf(respond.members.get('final')) ?? true;
        emit(output, { type: 'open', tag: 'response', depth: 0, final: respond.opened }, at + to);
        break;
      case 'text':
        if (respond.text === 'open')
          emit(output, { type: 'delta', tag: 'response', text: scan.text }, at + to);
        break;
      case 'closed':
        respond.text = 'whole';
        break;
      case 'value':
        keep(respond);
        break;
      case 'bad':
        respond.bad = true;
        break;
      case 'item':
      case 'nothing':
        break;
    }
  }
}

function keep(respond: Respond): void {
  const { scan, members } = respond;
  const read = parseValue(scan.value.text);
  if (read === 'not_finite') respond.bad = true;
  else if (read !== 'unreadable' && read.value !== null) members.set(scan.key, read.value);
}

/** The call is complete; `input` is all of it. */
export function endRespond(respond: Respond, output: Output, input: string, at: number): void {
  const found = endMembers(respond.scan);
  if (found === 'value') keep(respond);
  const { members } = respond;
  let text: string | undefined;
  if (respond.bad || found === 'bad') {
    const value = readObject(input, strictJson(input));
    if (typeof value === 'string') {
      const fault = value === 'not_finite' ? callNotFinite(RESPOND) : callBadJson(RESPOND);
      breakRespond(respond, output, at, fault);
      return;
    }
    for (const [key, member] of Object.entries(value)) if (member !== null) members.set(key, member);
    if (typeof value.text === 'string') text = value.text;
  }
  const asked = members.get('final');
  const final = finalOf(asked);
  if (asked !== undefined && final === undefined) emit(output, badFinalValue(asked), at);
  const isFinal = asked === undefined ? true : final === true;
  const result = members.get('output');
  const isSpoken = respond.text !== 'none';
  if (isSpoken) closeResponse(output, respond.opened, isFinal && result === undefined, at);
  else if (text !== undefined) sayWhole(output, text, isFinal && result === undefined, at);
  if (result !== undefined) sayWhole(output, JSON.stringify(result), isFinal, at);
  else if (!isSpoken && text === undefined) emit(output, noText(), at);
}

/** It came to nothing: what was heard of it is no whole response. */
export function breakRespond(
  { text }: Respond,
  output: Output,
  at: number,
  fault: ReturnType<typeof callBadJson>,
): void {
  emit(output, fault, at);
  if (text !== 'none') emit(output, { type: 'close', tag: 'response', truncated: true }, at);
}

/** true or false, also as a word; undefined for anything else. */
function finalOf(value: Json | undefined): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  return word === 'true' ? true : word === 'false' ? false : undefined;
}
