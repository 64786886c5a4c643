import type { JsonObject } from './json.ts';

/**
 * A part of a model's turn that its provider wants back as it came, in its place: reasoning that is signed or encrypted,
 * or what belongs to the text that ends here.
 */
export interface ProviderPart {
  readonly type: 'reasoning' | 'text';
  /** Characters of the turn's output that stand before it; of a text, at its end. */
  readonly at: number;
  /** The reasoning in words; absent where the provider keeps them to itself, and of a text, which is in the output. */
  readonly text?: string;
  /** What the provider gave with it, by provider: signatures, ids, encrypted contents. */
  readonly meta?: JsonObject;
  /** The model that it came from: others cannot read it. */
  readonly model: string;
}

/** The same before it is known where it stands. */
export type GivenPart = Omit<ProviderPart, 'at' | 'model'>;
