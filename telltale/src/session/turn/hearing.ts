import type { Cause, EventBody } from '../../events/event.ts';
import type { ActionIntent, ParserEvent } from '../../protocol/intents.ts';
import { createTagParser } from '../../protocol/tags/tag-parser.ts';
import type { SessionContext } from '../context.ts';
import { createBranches, decideTest } from './branches.ts';
import { createCloseSplitter } from './close-splitter.ts';
import { createGate } from './gate.ts';
import { createResponseStream, type ResponseStream } from './response-stream.ts';
import { createSpoken } from './spoken.ts';

/** Why the runtime ends the model's stream before the model does. */
export type CutReason = 'final' | 'sync' | 'buffer_full';

export interface HeardResponse {
  readonly stream: ResponseStream;
  /** Whether it was meant to end the session, and was closed. */
  readonly final: boolean;
}

/** Reads one turn of the model as it comes, and acts on each intent as it closes. */
export interface Hearing {
  push(delta: string): void;
  /** The stream is over. Calls back once all that was heard has been acted on. */
  end(then: () => void): void;
  /** The turn is given up: what was said goes on the log, nothing more is acted on. */
  abandon(): void;
  /** In the order in which they were opened. */
  readonly responses: readonly HeardResponse[];
  /** What was said outside every tag. */
  readonly text: string;
  /** The sync action at which the stream was cut. */
  readonly observed: string | undefined;
}

export function createHearing(context: SessionContext, cut: (reason: CutReason) => void): Hearing {
  const { log, scheduler, state, manifest, toAction } = context;
  const { protocol } = manifest;
  const parser = createTagParser({
    max_body: protocol.max_body.bytes,
    actions_in: protocol.actions_in,
    ids: context.ids,
    ...(state.seal === undefined ? {} : { key: state.seal }),
  });
  const branches = createBranches();
  const spoken = createSpoken(log);
  const responses: HeardResponse[] = [];
  /** The `<parallel>`s that are open; one without an id gets one that no model can write. */
  const groups: string[] = [];
  let parallels = 0;
  let response: ResponseStream | undefined;
  let responseFinal = false;
  /** Once a final response has closed, nothing that follows counts. */
  let over = false;
  let afterFinal = false;
  let observed: string | undefined;

  const record = (body: EventBody, consumed: number): Cause => {
    spoken.write(consumed);
    return log.append(body);
  };

  const declare = (intent: ActionIntent, consumed: number) => {
    const group = groups.at(-1);
    const action = toAction(intent, group);
    if (!action.ok) {
      const { code, message, hint } = action.error;
      record({ type: 'fault', code, message: `${message} ${hint ?? ''}`.trim() }, consumed);
      return;
    }
    spoken.write(consumed);
    const { id, mode } = action.value;
    scheduler.declare(
      group === undefined || mode !== 'sync' ? action.value : { ...action.value, mode: 'async' },
      log.here(),
    );
    if (group === undefined && mode === 'sync') waitFor([id], id);
  };

  /** At a sync action: holds what follows, or cuts the stream and shows the model the result at once. */
  const waitFor = (ids: readonly string[], sync?: string) => {
    if (sync !== undefined && protocol.on_sync === 'observe') {
      observed = sync;
      over = true;
      afterFinal = true;
      cut('sync');
      return;
    }
    gate.hold((open) => scheduler.whenEnded(ids, open));
  };

  const closeResponse = (truncated: boolean, consumed: number) => {
    if (response === undefined) return;
    const stream = response;
    const final = responseFinal && !truncated;
    response = undefined;
    responses.push({ stream, final });
    spoken.write(consumed);
    stream.end();
    if (final) {
      over = true;
      cut('final');
    } else stream.whenOut(() => log.append({ type: 'response', text: stream.text, final: false }));
  };

  const act = (event: ParserEvent, consumed: number): void => {
    if (over) {
      // The end of the `<if>` that the response stood in is no new tag, nor is its other branch.
      if (event.type === 'if' && event.body === 'else') branches.otherwise();
      else if (event.type === 'if' && event.body === 'close') branches.close();
      else if (!afterFinal && branches.live && event.type !== 'text' && event.type !== 'fault') {
        afterFinal = true;
        record(afterFinalFault, consumed);
      }
      if (event.type === 'if' && event.body === 'open') branches.open(() => false);
      return;
    }
    if (event.type !== 'text' && event.type !== 'fault') spoken.endRun(consumed);
    if (!branches.live && event.type !== 'if') return;
    switch (event.type) {
      case 'text':
        spoken.text(event.text);
        return;
      case 'open':
        if (event.tag === 'thought') spoken.openThought(event.depth);
        else {
          responseFinal = event.final;
          response = createResponseStream(scheduler, (text) => {
            if (log.watched) log.show({ type: 'response.delta', session: state.id, turn: state.turn, text });
          });
        }
        return;
      case 'delta':
        if (event.tag === 'thought') spoken.think(event.text);
        else response?.push(event.text);
        return;
      case 'close':
        if (event.tag === 'thought') spoken.closeThought(consumed);
        else closeResponse(event.truncated === true, consumed);
        return;
      case 'action':
        declare(event, consumed);
        return;
      case 'metadata':
        spoken.write(consumed);
        context.applyMetadata(event.value, 'model');
        return;
      case 'if':
        if (event.body === 'else') branches.otherwise();
        else if (event.body === 'close') branches.close();
        else
          branches.open(() => {
            const decided = decideTest(event.test, context.testContext);
            record({ type: 'if.decided', test: event.test, ...decided }, consumed);
            return decided.held;
          });
        return;
      case 'foreach': {
        spoken.write(consumed);
        const actions = event.actions.map((intent) => toAction(intent, groups.at(-1)));
        const bad = actions.find((action) => !action.ok);
        if (bad !== undefined && !bad.ok)
          record({ type: 'fault', code: bad.error.code, message: bad.error.message }, consumed);
        else
          scheduler.loop(
            {
              in: event.in,
              as: event.as,
              actions: actions.flatMap((action) => (action.ok ? [action.value] : [])),
            },
            log.here(),
          );
        return;
      }
      case 'parallel': {
        if (event.body === 'open') {
          groups.push(event.id ?? `parallel:${state.turn}.${++parallels}`);
          return;
        }
        const group = groups.pop();
        if (group !== undefined) waitFor([group]);
        return;
      }
      case 'fault':
        record({ type: 'fault', code: event.code, message: event.message }, consumed);
        return;
    }
  };

  const gate = createGate(act, () => cut('buffer_full'));

  const hear = (events: readonly ParserEvent[]) => {
    for (const event of events) gate.pass(event, parser.consumed);
  };

  const splitter = createCloseSplitter();

  const push = (piece: string) => {
    spoken.hear(piece);
    const events = parser.push(piece);
    if (events.length > 0) hear(events);
  };

  return {
    responses,
    push(delta) {
      if (observed !== undefined) return;
      for (const piece of splitter.split(delta)) {
        push(piece);
        if (observed !== undefined) return;
      }
    },
    end(then) {
      if (observed === undefined) hear(parser.end());
      gate.whenOpen(() => {
        spoken.endRun(parser.consumed);
        spoken.writeAll();
        then();
      });
    },
    abandon() {
      over = true;
      afterFinal = true;
      spoken.writeAll();
    },
    get text() {
      return spoken.bare;
    },
    get observed() {
      return observed;
    },
  };
}

const afterFinalFault: EventBody = {
  type: 'fault',
  code: 'after_final',
  message:
    'Tags followed the closed final response and were not read: a final response ends the turn. Put actions and metadata before it, or write <response final="false">.',
};
