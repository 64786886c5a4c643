/** The state that all parts of a log's page share. */
export interface LogView {
  readonly id: string;
  /** Increases when the model changes. */
  readonly version: number;
  /** Whether the page shows the newest event. */
  readonly isLive: boolean;
  /** Shows the state at an event, or the newest state if `seq` is undefined. */
  readonly seek: (seq: number | undefined) => void;
  /** The selected event. */
  readonly selected: number | undefined;
  readonly select: (seq: number | undefined) => void;
}
