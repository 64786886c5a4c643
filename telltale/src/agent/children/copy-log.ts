import { toRuntimeError } from '../../lib/errors.ts';
import type { Cause, EventOf, ObservedEvent, SessionEvent } from '../../log/event.ts';
import { speakerOf } from '../../log/fold-handoffs.ts';
import { CHILD_WRITER } from '../../log/fold-values.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Store } from '../../store/store.ts';
import type { ApplyMetadata } from '../metadata-writer.ts';
import { readEvents } from '../read-session.ts';
import type { SessionLog } from '../session-log.ts';
import { sharedVariables } from '../variables/declared-variables.ts';
import type { SetVariable } from '../variables/session-variables.ts';
import { copyOf } from './copy-event.ts';
import { sharedFields, updateFor } from './shared-metadata.ts';

export interface CopyDeps {
  readonly log: SessionLog;
  readonly store: Store;
  readonly applyMetadata: ApplyMetadata;
  readonly setVariable: SetVariable;
  readonly parent: AgentManifest;
}

/** Brings a sub-agent's events onto its parent's log, each once and in order, whatever happens in between. */
export interface LogCopy {
  /** Takes a committed event; those it has had before are no news. */
  take(event: ObservedEvent): void;
  /** Takes what is on the sub-agent's log and was not copied before this process came. */
  catchUp(): Promise<void>;
}

export function createLogCopy(
  { log, store, applyMetadata, setVariable, parent }: CopyDeps,
  {
    child,
    session,
    action,
  }: { readonly child: AgentManifest; readonly session: string; readonly action: string },
): LogCopy {
  const shared = sharedFields(parent, child);
  const sharedVars = sharedVariables(parent, child, speakerOf(action) !== undefined);
  const by = `${CHILD_WRITER}${child.name}`;
  const known = log.state.children.find((cursor) => cursor.action === action);
  let seen = known?.session === session ? known.seq : 0;

  const causeOf = ({ seq, cause }: SessionEvent): Cause => ({ stream: session, seq, depth: cause.depth + 1 });

  const copy = (event: SessionEvent) => {
    if (event.seq <= seen) return;
    seen = event.seq;
    if (event.type === 'variable.changed' && !sharedVars.has(event.name)) return;
    const body = copyOf(event, action);
    if (body === undefined) return;
    const at = log.append(body, causeOf(event));
    if (event.type === 'variable.changed') shareVariable(event, at);
    if (event.type !== 'metadata.changed') return;
    const update = updateFor(parent, event, shared);
    // In one go with the copy, so that a crash leaves both or none.
    if (update !== undefined) applyMetadata(update, by, at);
  };

  /** What does not fit the parent's variable stays the sub-agent's own. */
  const shareVariable = ({ name, to }: EventOf<'variable.changed'>, cause: Cause) => {
    try {
      setVariable(name, to, 'model', { as: by, cause });
    } catch (thrown) {
      const { message } = toRuntimeError(thrown);
      log.append(
        { type: 'audit', who: child.name, what: `It shares "${name}", and it was not set: ${message}` },
        cause,
      );
    }
  };

  /** Whoever looks at the parent would see nothing but an action that takes its time. */
  const note = (event: SessionEvent) => {
    if (event.type !== 'session.waiting' || event.for === 'message') return;
    if (speakerOf(action) !== undefined) return; // its copy says so
    const what = `${session} waits for a person (${event.for}): telltale reviews`;
    log.append({ type: 'audit', who: child.name, what }, causeOf(event));
  };

  return {
    take(event) {
      if (!('seq' in event)) return;
      copy(event);
      note(event);
    },
    async catchUp() {
      for (const event of await readEvents(store, session, seen + 1)) copy(event);
    },
  };
}
