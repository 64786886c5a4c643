/** What a graph is asked by: words, the name of a symbol, a file's path. */
export type QuestionKind = 'query' | 'symbol' | 'path';

export interface Question {
  readonly kind: QuestionKind;
  readonly text: string;
}
