export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue>>;

export interface SpanEvent {
  readonly name: string;
  readonly at: number;
  readonly attributes: Attributes;
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
}

/** A span that has ended, without anything of OpenTelemetry's packages. Times are milliseconds since the Unix epoch. */
export interface SpanRecord {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** `client`: a request to a model; else work of this process. */
  readonly kind: 'client' | 'internal';
  readonly startAt: number;
  readonly endAt: number;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly droppedEvents: number;
  readonly links: readonly SpanLink[];
  /** Set where it failed; what it says beyond the code may quote contents. */
  readonly error?: { readonly message?: string };
}
