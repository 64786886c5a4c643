import type { SessionEvent } from './event.ts';
import { declare, followChild, retryChild, settle } from './fold-actions.ts';
import { handOver, hearMessage } from './fold-handoffs.ts';
import { becomeChat, begin, end, goOn, grant } from './fold-life.ts';
import {
  answerReport,
  claimTask,
  countBarren,
  endRun,
  endTask,
  fireTimer,
  giveTask,
  hearAnswer,
  reportStuck,
  reportTurn,
  setTimer,
  startRun,
  takeOrder,
} from './fold-runs.ts';
import {
  beginTurn,
  breakTurn,
  charge,
  compact,
  endTurn,
  hear,
  notePrompt,
  respond,
  tellFault,
  usedOutside,
} from './fold-turns.ts';
import {
  addFeed,
  changeMetadata,
  changeVariable,
  failFeed,
  rejectMetadata,
  removeFeed,
  updateFeed,
} from './fold-values.ts';
import { markHook } from './hook-marks.ts';
import { request, resolve, voidReview } from './reviews.ts';
import { emptyState, type SessionState } from './state.ts';

/** The `custom` event with what a model used outside of turns: `{input, output, cost_usd}` and more. */
export const LLM_USAGE = 'llm.usage';

/**
 * Folds one event into `state`, in place, and returns it. The only way a session's state changes. Total: an event that
 * names an action nobody declared changes nothing but the place on the log. It has no closures: with one, each call
 * would make room for what it holds.
 */
export function reduce(state: SessionState, event: SessionEvent): SessionState {
  // Events have so many shapes that each field of them is looked up: once is enough.
  const { type, seq, at } = event;
  const isBack = type === 'session.resumed' || (type === 'review.resolved' && event.away === true);
  if (isBack || state.status === 'waiting' || state.idle) state.downMs += Math.max(0, at - state.at);
  state.seq = seq;
  state.at = at;
  switch (type) {
    case 'session.started':
      begin(state, event);
      break;
    case 'session.completed':
      end(state, 'completed');
      state.idle = false;
      state.result = event.result;
      break;
    case 'session.failed':
      end(state, 'failed');
      state.error = event.error;
      break;
    case 'session.stalled':
      end(state, 'stalled');
      state.error = event.error;
      break;
    case 'session.cancelled':
      end(state, 'cancelled');
      break;
    case 'session.resumed':
      if (event.manifest !== undefined) {
        state.manifest = event.manifest;
        // What the model can read may be set anew.
        delete state.window;
      }
      if (event.max_turns !== undefined) state.maxTurns = event.max_turns;
      if (event.budget !== undefined) grant(state, event.budget);
      if (event.chat === true) becomeChat(state, event);
      goOn(state);
      break;
    case 'session.waiting':
      state.status = 'waiting';
      if (event.for !== 'message') break;
      state.idle = true;
      delete state.held;
      if (state.thread !== undefined)
        state.thread = { ...state.thread, spoken: [state.thread.speaker], pending: [] };
      state.turnsBefore = state.totals.turns;
      break;
    case 'turn.started':
      delete state.handoff;
      beginTurn(state, event);
      notePrompt(state, event);
      if (state.task !== undefined) countBarren(state.task);
      break;
    case 'turn.completed':
      endTurn(state, event);
      charge(state, event.usage, event.cost_usd);
      state.totals.turns++;
      state.totals.failedTurns = 0;
      if (state.task !== undefined) state.task.turns++;
      break;
    case 'turn.failed':
      breakTurn(state, event);
      break;
    case 'model.output':
      hear(state, event);
      state.signs.unset = true;
      break;
    case 'thought':
      state.signs.tags = true;
      if (state.signs.thoughts !== undefined) state.signs.thoughts++;
      break;
    case 'text':
      break;
    case 'response':
      respond(state, event);
      // For where it is out before its turn has ended; the counts below are for where that comes first.
      state.signs.tags = true;
      state.signs.deeds = true;
      state.bareTurns = 0;
      state.idleTurns = 0;
      break;
    case 'message.received':
      hearMessage(state, event);
      break;
    case 'handoff.requested': {
      const { to, reason, carry, summary, action, seq, cause } = event;
      state.handoff = {
        to,
        action,
        seq,
        depth: cause.depth + 1,
        ...(reason === undefined ? {} : { reason }),
        ...(carry === undefined ? {} : { carry }),
        ...(summary === undefined ? {} : { summary }),
      };
      break;
    }
    case 'handoff':
      handOver(state, event);
      break;
    case 'action.declared':
      declare(state, event.action, event.turn);
      break;
    case 'action.started': {
      const action = state.actions.get(event.id);
      if (action === undefined) break;
      action.status = 'running';
      action.attempts = event.attempt;
      action.input = event.input;
      break;
    }
    case 'action.completed':
    case 'action.failed':
    case 'action.skipped':
    case 'action.cancelled':
    case 'action.interrupted':
      settle(state, event);
      break;
    case 'action.compensated': {
      const action = state.actions.get(event.id);
      if (action !== undefined) action.status = 'compensated';
      break;
    }
    case 'action.retrying': {
      // Its last try is known to have failed: after a crash it is not in doubt, and goes on with the next.
      const action = state.actions.get(event.id);
      if (action === undefined) break;
      action.status = 'waiting';
      if (action.action.kind === 'agent' || action.action.kind === 'workflow') retryChild(state, event.id);
      break;
    }
    case 'metadata.changed':
      changeMetadata(state, event);
      break;
    case 'metadata.rejected':
      rejectMetadata(state, event);
      break;
    case 'variable.changed':
      changeVariable(state, event);
      break;
    case 'fault':
      tellFault(state, event);
      break;
    case 'if.decided':
      state.signs.tags = true;
      state.signs.ifs.push(event.problem === undefined ? event.held : null);
      break;
    case 'budget.charged':
      state.balance = event.balance;
      break;
    case 'prompt.compacted':
      compact(state, event);
      break;
    case 'custom':
      if (event.name === LLM_USAGE) {
        const { usage, cost_usd } = usedOutside(event.data);
        charge(state, usage, cost_usd);
      }
      break;
    case 'child.thought':
    case 'child.text':
    case 'child.response':
    case 'child.turn.completed':
    case 'child.turn.failed':
    case 'child.action.completed':
    case 'child.action.failed':
    case 'child.metadata.changed':
    case 'child.variable.changed':
    case 'child.turn.started':
    case 'child.action.declared':
    case 'child.action.started':
    case 'child.action.skipped':
    case 'child.action.cancelled':
    case 'child.action.interrupted':
    case 'child.review.requested':
    case 'child.review.resolved':
    case 'child.review.voided':
    case 'child.session.waiting':
    case 'child.usage':
      followChild(state, event);
      break;
    case 'review.requested':
      request(state, event);
      break;
    case 'review.resolved':
      resolve(state, event);
      break;
    case 'review.voided':
      voidReview(state, event);
      break;
    case 'timer.set':
      setTimer(state, event);
      break;
    case 'timer.fired':
      fireTimer(state, event.id);
      break;
    case 'trigger.fired':
      startRun(state, event);
      break;
    case 'workflow.completed':
    case 'workflow.failed':
    case 'workflow.cancelled':
      endRun(state, event);
      break;
    case 'invoke':
      hearAnswer(state, event);
      break;
    case 'workflow.asked':
      takeOrder(state, event);
      break;
    case 'hook.ran':
      state.hooks = markHook(state.hooks, event);
      break;
    case 'task.given':
      giveTask(state, event);
      break;
    case 'task.claimed':
      claimTask(state, event);
      break;
    case 'task.stuck':
      reportStuck(state, event);
      break;
    case 'task.turn':
      reportTurn(state, event);
      break;
    case 'task.answered':
      answerReport(state, event);
      break;
    case 'task.over':
      endTask(state, event.task);
      break;
    case 'feed.added':
      addFeed(state, event);
      break;
    case 'feed.removed':
      removeFeed(state, event);
      break;
    case 'feed.updated':
      updateFeed(state, event);
      break;
    case 'feed.failed':
      failFeed(state, event);
      break;
    case 'audit':
    case 'trigger.suppressed':
    case 'artifact.written':
      break;
  }
  return state;
}

/** The state after these events, from nothing or from `state`, which is changed. */
export function fold(events: Iterable<SessionEvent>, state: SessionState = emptyState()): SessionState {
  for (const event of events) reduce(state, event);
  return state;
}
