import type { JsonObject } from '../../../src/lib/json.ts';
import type { ForeignForm } from './foreign-forms.ts';

export type Dialect = 'tags' | 'tools' | 'step';
export const DIALECTS: readonly Dialect[] = ['tags', 'tools', 'step'];

/** Something to call. */
export interface Act {
  /** What the policy calls it; its id is made of it. */
  readonly key: string;
  readonly kind?: 'internal';
  readonly name: string;
  readonly parameters: JsonObject;
  /** Keys of acts of the same turn. */
  readonly dependsOn?: readonly string[];
  /** Whether it may be done twice. */
  readonly idempotent?: boolean;
  readonly mode?: 'background';
  /** Said before, with the same id: it must not be done again. */
  readonly isRepeated?: true;
}

/** What a guided step is completed with. */
export interface Completion {
  readonly notes: string;
  readonly context_updates?: JsonObject;
}

/** What a model wants to do in one turn, before any dialect. */
export interface Move {
  readonly thought?: string;
  readonly metadata?: JsonObject;
  readonly acts: readonly Act[];
  readonly complete?: Completion;
  /** The answer. `$[KEY]` in it stands for the result of that act. */
  readonly final?: string;
  readonly style?: Style;
}

/** How the words differ from what the prompt teaches. */
export interface Style {
  readonly json?: 'fence' | 'comma' | 'comment';
  readonly noType?: true;
  readonly nameAttribute?: true;
  /** Other ids than the regular ones, by key. */
  readonly ids?: Readonly<Record<string, string>>;
  /** Calls as text, in the form of another system; `fenced`, or with words around them. */
  readonly foreign?: ForeignForm;
  readonly around?: 'fence' | 'prose';
  /** Native calls where none are offered. */
  readonly native?: true;
  readonly unclosed?: 'first' | 'last';
  readonly openResponse?: true;
  readonly answer?: 'plain' | 'thinking';
  /** Text behind, and in front of, all else. */
  readonly after?: string;
  readonly before?: string;
  /** These words and nothing else. */
  readonly only?: string;
  /** The output limit cuts it off inside of the last call. */
  readonly cut?: true;
  /** The connection breaks off in the midst of it. */
  readonly broken?: true;
}

export const styled = (move: Move, style: Style): Move => ({ ...move, style: { ...move.style, ...style } });
