import type { NotificationInfo } from '../../client/api.ts';
import type { SessionEvent } from '../../events/event.ts';
import type { RunEvent } from '../../events/run-event.ts';

/** Tells people outside of what happens: by webhook, on the desktop, by a command. Durable: what is due survives a restart. */
export interface Notifications {
  /** Called with every event that is committed here; decides by the rules of the event's agent. Never throws. */
  observe(event: SessionEvent | RunEvent): void;
  /** Newest first. */
  list(options: {
    readonly status?: NotificationInfo['status'];
    readonly before?: string;
    readonly limit: number;
  }): Promise<readonly NotificationInfo[]>;
  /** Tries a dead one again. Rejects with `notification_unknown`. */
  retry(id: string): Promise<NotificationInfo>;
  /** Ends what is being sent; the rest is sent after the next start. */
  close(): Promise<void>;
}
