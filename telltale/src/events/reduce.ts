import { added, put } from '../kernel/grow.ts';
import type { Json } from '../kernel/json.ts';
import type { EventOf, MessageFrom, SessionEvent } from './event.ts';
import { declare, settle } from './fold-actions.ts';
import { followChild, retryChild } from './fold-children.ts';
import { addFeed, compactedFeeds, failFeed, removeFeed, updateFeed } from './fold-feeds.ts';
import { request, resolve, voidReview } from './fold-reviews.ts';
import { endRun, fireTimer, hearAnswer, setTimer, startRun, takeOrder } from './fold-runs.ts';
import {
  answerReport,
  claimTask,
  countBarren,
  endTask,
  giveTask,
  reportStuck,
  reportTurn,
} from './fold-tasks.ts';
import { beginTurn, breakTurn, charge, endTurn, hear, usedOutside } from './fold-turns.ts';
import { markHook } from './hook-marks.ts';
import { showsTag } from './shows-tag.ts';
import { emptyState, ownFields, type SessionState } from './state.ts';
import type { VariableClass } from './value-event.ts';

/** The `custom` event with what a model used outside of turns: `{input, output, cost_usd}` and more. */
export const LLM_USAGE = 'llm.usage';

/** Who changes metadata for a sub-agent: `child:NAME`. */
export const CHILD_WRITER = 'child:';

/** Who changes metadata and variables for a workflow run: `workflow:NAME`. */
export const WORKFLOW_WRITER = 'workflow:';

/** Who sets what the session did not: values kept from before, or set by others meanwhile. No update of its own. */
export const SEED_WRITER = 'seed';

/**
 * Faults of one turn that the model is told of; a stream of nothing but faults must not fill the prompt. Beyond them the
 * first of a kind still counts: it may be what keeps a response from being final, or what says that it was not. There
 * are some thirty kinds.
 */
const MAX_FAULTS = 50;

/**
 * Folds one event into `state`, in place, and returns it. The only way a session's state changes. Total: an event that
 * names an action nobody declared changes nothing but the place on the log. It has no closures: with one, each call
 * would make room for what it holds.
 */
export function reduce(state: SessionState, event: SessionEvent): SessionState {
  const isBack =
    event.type === 'session.resumed' || (event.type === 'review.resolved' && event.away === true);
  if (isBack || state.status === 'waiting' || state.idle) state.downMs += Math.max(0, event.at - state.at);
  state.seq = event.seq;
  state.at = event.at;
  switch (event.type) {
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
      if (event.max_turns !== undefined) state.maxTurns = event.max_turns;
      if (event.chat === true) becomeChat(state);
      goOn(state);
      break;
    case 'session.waiting':
      state.status = 'waiting';
      if (event.for !== 'message') break;
      state.idle = true;
      state.turnsBefore = state.totals.turns;
      break;
    case 'turn.started':
      beginTurn(state, event.turn);
      if (state.task !== undefined) countBarren(state.task);
      break;
    case 'turn.completed':
      endTurn(state);
      charge(state, event.usage, event.cost_usd);
      state.totals.turns++;
      state.totals.failedTurns = 0;
      if (state.task !== undefined) state.task.turns++;
      break;
    case 'turn.failed':
      breakTurn(state, event);
      break;
    case 'model.output':
      hear(state, event.text);
      state.signs.unset = true;
      break;
    case 'thought':
      state.signs.tags = true;
      if (state.signs.thoughts !== undefined) state.signs.thoughts++;
      break;
    case 'text':
      break;
    case 'response':
      state.response = { text: event.text, final: event.final, turn: event.turn };
      state.signs.responses++;
      // For where it is out before its turn has ended; the counts below are for where that comes first.
      state.signs.tags = true;
      state.signs.deeds = true;
      state.bareTurns = 0;
      state.idleTurns = 0;
      break;
    case 'message.received':
      if (state.status === 'waiting') state.status = 'running';
      state.idle = false;
      tellMessage(state, event.from, event.text);
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
      if (isOfChild(event.by) || isOfWorkflow(event.by)) break; // no mistake of this model's
      state.signs.unset = false;
      state.signs.tags = true;
      for (const error of event.errors) state.news.rejected = added(state.news.rejected, error);
      break;
    case 'variable.changed':
      changeVariable(state, event);
      break;
    case 'fault':
      state.signs.tags ||= showsTag(event.code);
      if (state.news.faults.length < MAX_FAULTS || isNewKind(state, event.code))
        state.news.faults = added(state.news.faults, { code: event.code, message: event.message });
      break;
    case 'if.decided':
      state.signs.tags = true;
      state.signs.ifs = added(state.signs.ifs, event.problem === undefined ? event.held : null);
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

function begin(state: SessionState, event: EventOf<'session.started'>): void {
  state.id = event.session;
  state.agent = event.agent;
  state.manifest = event.manifest;
  state.model = event.model;
  if (event.seal !== undefined) state.seal = event.seal;
  if (event.parent !== undefined) state.parent = event.parent;
  if (event.max_turns !== undefined) state.maxTurns = event.max_turns;
  if (event.chat === true) state.chat = true;
  if (event.led === true) state.led = true;
  if (event.user !== undefined) state.user = event.user;
  if (event.balance !== undefined) state.balance = event.balance;
  state.input = event.input;
  state.startedAt = event.at;
  for (const [field, value] of Object.entries(event.metadata ?? {})) ownFields(state)[field] = value;
  for (const [name, value] of Object.entries(event.vars ?? {}))
    state.variables = put(state.variables, name, { value, class: classIn(event, name), by: 'start' });
  tellMessage(state, event.parent === undefined || event.led === true ? 'user' : 'parent', event.input);
}

const isNewKind = ({ news }: SessionState, kind: string): boolean =>
  !news.faults.some(({ code }) => code === kind);

function tellMessage({ news }: SessionState, from: MessageFrom, text: string): void {
  news.messages = added(news.messages, { from, text });
}

const classIn = ({ classes }: EventOf<'session.started'>, name: string): VariableClass =>
  classes !== undefined && Object.hasOwn(classes, name) ? (classes[name] ?? 'runtime') : 'runtime';

function end(state: SessionState, status: SessionState['status']): void {
  state.status = status;
  delete state.failing;
}

/** What a session completed with is the answer of its last exchange, once it goes on as a chat. */
function becomeChat(state: SessionState): void {
  state.chat = true;
  if (state.status !== 'completed') return;
  state.idle = true;
  state.turnsBefore = state.totals.turns;
  delete state.result;
}

/** A session that had come to an end of any kind runs again. */
function goOn(state: SessionState): void {
  // Otherwise it would stall again at once, before the model has seen what it was given to go on with.
  if (state.status === 'stalled') state.idleTurns = 0;
  state.status = 'running';
  delete state.error;
  state.totals.failedTurns = 0;
}

function compact(state: SessionState, event: EventOf<'prompt.compacted'>): void {
  const { task } = state;
  const { through, summary, usage, cost_usd = 0 } = event;
  state.compaction = {
    through,
    summary,
    // The block that gave it is among what the summary stands for.
    ...(task !== undefined && task.since < through ? { task: task.given } : {}),
    ...compactedFeeds(state, event),
  };
  state.turns = state.turns.filter(({ turn }) => turn > through);
  if (usage !== undefined) charge(state, usage, cost_usd);
}

const isOfChild = (by: string): boolean => by.startsWith(CHILD_WRITER);

const isOfWorkflow = (by: string): boolean => by.startsWith(WORKFLOW_WRITER);

function changeVariable(state: SessionState, event: EventOf<'variable.changed'>): void {
  state.signs.unset = false;
  if (event.by !== SEED_WRITER) state.variableUpdates++;
  const { name, to: value, class: kind, by } = event;
  const isNew = !state.variables.has(name) || !isSame(event.from, value);
  state.variables = put(state.variables, name, { value, class: kind, by });
  if (!isNew) return; // as with metadata
  if (by === 'model') {
    state.signs.tags = true;
    state.signs.deeds = true;
    if (state.task !== undefined) state.task.fresh = true;
  }
  if (state.news.variables === undefined) state.news.variables = [name];
  else if (!state.news.variables.includes(name)) state.news.variables.push(name);
}

const isSame = (from: Json, to: Json): boolean =>
  from === to || (typeof from === 'object' && JSON.stringify(from) === JSON.stringify(to));

function changeMetadata(state: SessionState, event: EventOf<'metadata.changed'>): void {
  state.signs.unset = false;
  if (event.by !== SEED_WRITER) state.metadataUpdates++;
  const fields = Object.entries(event.changes) as [string, { to: Json }][];
  // What was said already is an update, but no sign that anything goes on.
  if (fields.length > 0 && !isOfChild(event.by) && event.run === undefined) {
    state.signs.tags = true;
    state.signs.deeds = true;
    if (state.task !== undefined) state.task.fresh = true;
  }
  for (const [field, { to }] of fields) {
    // A field that is not set and has no default is absent; on the log that is null.
    if (to === null) delete ownFields(state)[field];
    else ownFields(state)[field] = to;
    if (!state.news.changed.includes(field)) state.news.changed = added(state.news.changed, field);
  }
}
