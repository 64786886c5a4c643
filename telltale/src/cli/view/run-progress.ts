import type { ObservedEvent } from '../../log/event.ts';
import { countText, spanText } from './figures.ts';

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPIN_MS = 100;

/** The sign that turns while something goes on. */
export const spinner = (now: number): string => SPINNER[Math.floor(now / SPIN_MS) % SPINNER.length] ?? '';

/** What a run is doing at this moment, in one moving line. */
export interface RunProgress {
  follow(event: ObservedEvent): void;
  /** `steps`: of the run that leads it, those that are the run's own. `more` comes last. */
  line(now: number, running: number, steps?: readonly string[], more?: readonly string[]): string;
}

/** What shows that the model has begun to answer. */
const FIRST_WORDS: ReadonlySet<string> = new Set([
  'model.output',
  'thought',
  'thought.delta',
  'text',
  'response',
  'response.delta',
  'action.declared',
  'metadata.changed',
  'metadata.rejected',
  'fault',
]);

/** Says what the model does: nothing, think about its first word, or speak. */
export interface ModelPhase {
  follow(event: ObservedEvent): void;
  /** Undefined where no request is open. */
  text(): string | undefined;
}

export function createModelPhase(): ModelPhase {
  let phase: 'waiting' | 'speaking' | undefined;
  return {
    follow({ type }) {
      if (type === 'turn.started') phase = 'waiting';
      else if (type === 'turn.completed' || type === 'turn.failed') phase = undefined;
      else if (phase === 'waiting' && FIRST_WORDS.has(type)) phase = 'speaking';
    },
    text: () =>
      phase === undefined
        ? undefined
        : phase === 'waiting'
          ? 'waiting for the model'
          : 'the model is speaking',
  };
}

export function createRunProgress(): RunProgress {
  const model = createModelPhase();
  let startedAt: number | undefined;
  let turn = 0;
  let nextTryAt: number | undefined;
  return {
    follow(event) {
      if ('at' in event) startedAt ??= event.at;
      // What comes next is another exchange.
      if (event.type === 'session.waiting' && event.for === 'message') startedAt = undefined;
      if (event.type === 'turn.failed' && event.retry_in !== undefined) nextTryAt = event.at + event.retry_in;
      else if (event.type.startsWith('turn.') || event.type.startsWith('session.')) nextTryAt = undefined;
      if (event.type === 'turn.started') turn = event.turn;
      model.follow(event);
    },
    line(now, running, steps = [], more = []) {
      const phase = model.text();
      const parts = [
        turn === 0 ? 'starting' : `turn ${turn}`,
        ...(phase === undefined ? [] : [phase]),
        ...(nextTryAt === undefined ? [] : [nextTry(nextTryAt - now)]),
        ...(running > 0 ? [`${countText(running, 'action')} running`] : []),
        ...(steps.length === 1 ? [`step ${steps[0]}`] : []),
        ...(steps.length > 1 ? [`${countText(steps.length, 'step')} running`] : []),
        ...(startedAt === undefined ? [] : [spanText(now - startedAt)]),
        ...more,
      ];
      return `${spinner(now)} ${parts.join(' · ')}`;
    },
  };
}

/** A provider may ask for minutes, and the line that told of it is cut at the edge of the terminal. */
const nextTry = (leftMs: number): string => `next try ${leftMs > 0 ? `in ${spanText(leftMs)}` : 'now'}`;
