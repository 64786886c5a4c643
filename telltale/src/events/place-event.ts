import type { Cause, EventBody, SessionEvent } from './event.ts';

/**
 * The event that a body becomes at its place: what it says, then where it stands. Those of every turn are literals: a
 * spread of bodies of many shapes takes 450 ns, a literal 60.
 */
export function placeEvent(
  body: EventBody,
  seq: number,
  at: number,
  session: string,
  turn: number,
  cause: Cause,
): SessionEvent {
  switch (body.type) {
    case 'turn.started':
      if (body.background !== undefined) return { ...body, seq, at, session, turn, cause };
      return { type: body.type, prompt: body.prompt, seq, at, session, turn, cause };
    case 'model.output': {
      const { type, offset, text, parts } = body;
      if (parts !== undefined) return { type, offset, text, parts, seq, at, session, turn, cause };
      return { type, offset, text, seq, at, session, turn, cause };
    }
    case 'thought': {
      const { type, text, depth } = body;
      return { type, text, depth, seq, at, session, turn, cause };
    }
    case 'action.declared':
      return { type: body.type, action: body.action, seq, at, session, turn, cause };
    case 'action.started': {
      const { type, id, attempt, input } = body;
      return { type, id, attempt, input, seq, at, session, turn, cause };
    }
    case 'action.completed': {
      const { type, id, output, ms, attempts } = body;
      return { type, id, output, ms, attempts, seq, at, session, turn, cause };
    }
    case 'turn.completed': {
      const { type, usage, cost_usd, ms, first_token_ms, finish } = body;
      return { type, usage, cost_usd, ms, first_token_ms, finish, seq, at, session, turn, cause };
    }
    default:
      return { ...body, seq, at, session, turn, cause };
  }
}
