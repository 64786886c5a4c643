import type { JsonObject } from '../../../src/lib/json.ts';
import { inForm } from './foreign-forms.ts';
import type { Act, Dialect, Move, Style } from './move.ts';
import type { Part, SaidCall, Utterance } from './words.ts';

/** The turn that is spoken: counted from 1, for ids that are new in it. */
export interface Speaking {
  readonly dialect: Dialect;
  readonly turn: number;
}

const idOf = ({ key }: Pick<Act, 'key'>, turn: number, style: Style | undefined): string =>
  style?.ids?.[key] ?? `${key}_${turn}`;

/** A move in the words of a dialect, with the mistakes that its style asks for. */
export function speak(move: Move, speaking: Speaking): Utterance {
  const { style = {} } = move;
  const parts = style.only === undefined ? wordsOf(move, style, speaking) : [text(style.only)];
  const around = [
    ...(style.before === undefined ? [] : [text(style.before)]),
    ...parts,
    ...(style.after === undefined ? [] : [text(style.after)]),
  ];
  const spoken = joined(around);
  if (style.cut === true) return { parts: cutOff(spoken), finish: 'length' };
  if (style.broken === true) return { parts: cutOff(spoken), finish: 'broken' };
  return { parts: spoken, finish: 'stop' };
}

function wordsOf(move: Move, style: Style, speaking: Speaking): readonly Part[] {
  if (style.foreign !== undefined) return [text(foreignWords(move, style))];
  if (style.answer !== undefined) return [text(plainAnswer(move, style.answer, speaking))];
  switch (speaking.dialect) {
    case 'tags':
      return tagWords(move, style, speaking.turn);
    case 'tools':
      return toolWords(move, style, speaking.turn);
    case 'step':
      return stepWords(move, style, speaking.turn);
  }
}

function foreignWords({ acts }: Move, { foreign = 'json', around }: Style): string {
  const written = inForm(foreign, acts);
  if (around === 'fence') return `\`\`\`json\n${written}\n\`\`\``;
  return around === 'prose' ? `I will look at that first.\n\n${written}\n\nThen I go on.` : written;
}

function plainAnswer(move: Move, how: 'plain' | 'thinking', { turn }: Speaking): string {
  const answer = move.complete?.notes ?? named(move, turn);
  return how === 'plain'
    ? answer
    : `<thinking>\nI have all that I need for the answer.\n</thinking>\n\n${answer}`;
}

/** The final text, with the ids of what it names. */
const named = ({ final = '', style }: Move, turn: number): string =>
  final.replaceAll(/\$\[(\w+)\]/g, (_, key: string) => `$${idOf({ key }, turn, style)}`);

const dependencies = ({ dependsOn }: Act, style: Style, turn: number): JsonObject =>
  dependsOn === undefined ? {} : { depends_on: dependsOn.map((key) => idOf({ key }, turn, style)) };

const modeOf = ({ mode }: Act): JsonObject => (mode === undefined ? {} : { mode });

function tagWords(move: Move, style: Style, turn: number): readonly Part[] {
  const said: Part[] = [];
  if (move.thought !== undefined) said.push(text(`<thought>${move.thought}</thought>\n`));
  if (move.metadata !== undefined)
    said.push(text(`<metadata>\n${spoilt(move.metadata, style)}\n</metadata>\n`));
  const acts = [...move.acts, ...(move.complete === undefined ? [] : [completionAct(move.complete)])];
  for (const [index, act] of acts.entries()) {
    if (style.native === true) {
      said.push(nativeCall(act, index, turn, act.parameters, style));
      continue;
    }
    const isOpen =
      style.unclosed === 'first' ? index === 0 : style.unclosed === 'last' && index === acts.length - 1;
    said.push(text(`${actionTag(act, style, turn)}${isOpen ? '' : '</action>'}\n`));
  }
  if (move.final !== undefined)
    said.push(
      text(`<response final="true">${named(move, turn)}${style.openResponse === true ? '' : '</response>'}`),
    );
  return said;
}

const completionAct = ({ notes, context_updates }: NonNullable<Move['complete']>): Act => ({
  key: 'complete',
  kind: 'internal',
  name: 'complete_step',
  parameters: { notes, ...(context_updates === undefined ? {} : { context_updates }) },
});

function actionTag(act: Act, style: Style, turn: number): string {
  const { kind = 'tool', name, parameters } = act;
  const id = `id="${idOf(act, turn, style)}"`;
  const mode = act.mode === undefined ? '' : ` mode="${act.mode}"`;
  const type = `${style.noType === true ? '' : ` type="${kind}"`}${mode}`;
  const run = dependencies(act, style, turn);
  if (style.nameAttribute !== true)
    return `<action${type} ${id}>\n${spoilt({ name, parameters, ...run }, style)}\n`;
  const waits = 'depends_on' in run ? ` depends_on='${JSON.stringify(run.depends_on)}'` : '';
  return `<action${kind === 'tool' ? mode : type} name="${name}" ${id}${waits}>\n${spoilt(parameters, style)}\n`;
}

function toolWords(move: Move, style: Style, turn: number): readonly Part[] {
  const said: Part[] = [];
  if (move.thought !== undefined) said.push(text(move.thought));
  let index = 0;
  const make = (name: string, input: JsonObject) =>
    said.push({
      type: 'call',
      call: { id: `call_${turn}_${index++}`, name, input: spoilt(input, style) },
    });
  if (move.metadata !== undefined) make('set_metadata', move.metadata);
  for (const act of move.acts)
    make(act.name, {
      ...act.parameters,
      _run: { id: idOf(act, turn, style), ...dependencies(act, style, turn), ...modeOf(act) },
    });
  if (move.complete !== undefined) make('complete_step', completionAct(move.complete).parameters);
  if (move.final !== undefined) make('respond', { text: named(move, turn), final: true });
  return said;
}

function stepWords(move: Move, style: Style, turn: number): readonly Part[] {
  const { thought = 'On with it.', metadata, acts, complete, final } = move;
  const input = {
    thought,
    ...(metadata === undefined ? {} : { metadata }),
    ...(complete?.context_updates === undefined ? {} : { context_updates: complete.context_updates }),
    ...(acts.length === 0
      ? {}
      : {
          tool_calls: acts.map((act) => ({
            name: act.name,
            input: act.parameters,
            id: idOf(act, turn, style),
            ...dependencies(act, style, turn),
            ...modeOf(act),
          })),
        }),
    ...(complete === undefined && final === undefined
      ? {}
      : { notes: complete?.notes ?? 'The task is done, and the response says what came of it.' }),
    is_complete: complete !== undefined || final !== undefined,
    ...(final === undefined ? {} : { response: named(move, turn) }),
  };
  return [{ type: 'call', call: { id: `call_${turn}_0`, name: 'step', input: spoilt(input, style) } }];
}

function nativeCall({ name }: Act, index: number, turn: number, input: JsonObject, style: Style): Part {
  const made: SaidCall = { id: `call_${turn}_${index}`, name, input: spoilt(input, style) };
  return { type: 'call', call: made };
}

/** JSON, or what models take for it. */
function spoilt(value: JsonObject, { json }: Style): string {
  const good = JSON.stringify(value);
  if (json === undefined) return good;
  switch (json) {
    case 'fence':
      return `\`\`\`json\n${good}\n\`\`\``;
    case 'comma':
      return `${good.slice(0, -1)},}`;
    case 'comment':
      return `{ // what to do\n${good.slice(1)}`;
  }
}

const text = (said: string): Part => ({ type: 'text', text: said });

/** Texts that meet are one. */
function joined(parts: readonly Part[]): readonly Part[] {
  const found: Part[] = [];
  for (const part of parts) {
    const last = found.at(-1);
    if (part.type === 'text' && last?.type === 'text') found[found.length - 1] = text(last.text + part.text);
    else found.push(part);
  }
  return found;
}

/** Without the end of its last part: inside of the last action of a text, inside of the last call. */
function cutOff(parts: readonly Part[]): readonly Part[] {
  const last = parts.at(-1);
  if (last === undefined) return parts;
  const whole = last.type === 'text' ? last.text : last.call.input;
  const from = last.type === 'text' ? Math.max(0, whole.lastIndexOf('<action')) : 0;
  const kept = whole.slice(0, from + Math.floor((whole.length - from) * CUT_AT));
  const cut: Part = last.type === 'text' ? text(kept) : { type: 'call', call: { ...last.call, input: kept } };
  return [...parts.slice(0, -1), cut];
}

const CUT_AT = 0.7;
