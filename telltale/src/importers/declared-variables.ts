import type { JsonObject } from '../lib/json.ts';
import { createNames, identifierOf } from './names.ts';

/** Context variables of a format that does not declare them: each is declared when something first uses it. */
export class DeclaredVariables {
  readonly declared: JsonObject[] = [];
  readonly #names = createNames('_');
  readonly #byName = new Map<string, string>();

  /** The name that a variable has here. `more` counts only if this declares it. */
  named(written: string, more: JsonObject = {}): string {
    const name = this.#byName.get(written) ?? this.added(written, more);
    this.#byName.set(written, name);
    return name;
  }

  /** A variable that the source does not have. Its name is unique, even if the source has one of that name. */
  added(wanted: string, more: JsonObject): string {
    const name = this.#names.take(identifierOf(wanted));
    this.declared.push({ name, ...more });
    return name;
  }

  has(written: string): boolean {
    return this.#byName.has(written);
  }

  /** The variables that have another name here. */
  renamed(): readonly (readonly [from: string, to: string])[] {
    return [...this.#byName].filter(([from, to]) => from !== to);
  }
}
