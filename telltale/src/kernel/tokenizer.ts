/** Counts tokens as models do. A port: the tables of a real one are large and are loaded by those who count. */
export interface Tokenizer {
  /** Bounded in time for any text of bounded size, however hostile. */
  count(text: string): number;
}

/** The tokenizer, loaded when it is first asked for. */
export type LoadTokenizer = () => Promise<Tokenizer>;
