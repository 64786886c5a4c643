import type { ObservedEvent } from '../../log/event.ts';
import { countText, spanText } from './figures.ts';

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPIN_MS = 100;

/** The sign that spins while something runs. */
export const spinner = (now: number): string => SPINNER[Math.floor(now / SPIN_MS) % SPINNER.length] ?? '';

/** The status line of a run: what it is doing now. */
export interface RunProgress {
  follow(event: ObservedEvent): void;
  /** `steps` are the guiding run's own steps. `more` comes last. */
  line(now: number, running: number, steps?: readonly string[], more?: readonly string[]): string;
}

/** Events that show that the model has started to answer. */
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

/** Tells whether the model is idle, has not sent its first token, or is answering. */
export interface ModelPhase {
  follow(event: ObservedEvent): void;
  /** Undefined if no request is open. */
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
      // The next turn is a new exchange.
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

/** The provider's wait may take minutes, and the earlier line about it may be cut off at the terminal's edge. */
const nextTry = (leftMs: number): string => `next try ${leftMs > 0 ? `in ${spanText(leftMs)}` : 'now'}`;
