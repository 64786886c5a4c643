/** What every part of a page about one log looks at. */
export interface LogView {
  readonly id: string;
  /** Goes up when the model has changed. */
  readonly version: number;
  /** Whether the moment that is shown is the newest there is. */
  readonly isLive: boolean;
  /** Shows it as it was at an event; undefined: as it is. */
  readonly seek: (seq: number | undefined) => void;
  /** The event that is looked at. */
  readonly selected: number | undefined;
  readonly select: (seq: number | undefined) => void;
}
