import { decodeEvent } from '../../events/codec.ts';
import type { SessionEvent } from '../../events/event.ts';
import { decodeRunEvent } from '../../events/run-codec.ts';
import type { RunEvent } from '../../events/run-event.ts';
import type { StreamInfo } from '../../store/store.ts';

/** An event of a session or of a workflow run. */
export type StreamEvent = SessionEvent | RunEvent;

export type StreamRef = Pick<StreamInfo, 'stream' | 'kind'>;

export const isRunEvent = (event: StreamEvent): event is RunEvent => !('session' in event);

/** The log that it stands on. */
export const streamOf = (event: StreamEvent): string => (isRunEvent(event) ? event.run : event.session);

export function decodeLine(line: string, { stream, kind }: StreamRef): StreamEvent {
  switch (kind) {
    case 'session':
      return decodeEvent(line, stream);
    case 'run':
      return decodeRunEvent(line, stream);
  }
}
