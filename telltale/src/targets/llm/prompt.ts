import type { Json, JsonObject } from '../../kernel/json.ts';

/** What an `llm` action can name. */
export interface Prompt {
  readonly description: string;
  readonly parameters: JsonObject;
  readonly system: string;
  message(input: JsonObject, agent: JsonObject): string;
  /** What the model's text stands for; throws `bad_output`. */
  result(text: string, input: JsonObject): Json;
}
