/** What templates of models end a turn with; servers that do not know a model's let them through. */
const END_TOKENS = [
  '<|im_end|>',
  '<|endoftext|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|end|>',
  '<|end_of_text|>',
  '<|end_of_turn|>',
  '<end_of_turn>',
  '<｜end▁of▁sentence｜>',
  '</s>',
];

/** In a text with such tags, `</s>` is one of them. */
const STRUCK = /<s[\s>]/;

const BYTE_ORDER_MARK = '\ufeff';

/** Leaves out what is no part of an answer: a byte order mark in front of it, and tokens of the model's template at its end. */
export class CleanText {
  private held = '';
  private isFirst = true;
  private tokens: readonly string[] = END_TOKENS;

  /** What may be said by now: a tail that may be such tokens waits. */
  push(delta: string): string {
    let text = this.held + delta;
    if (this.isFirst && text !== '') {
      if (text.startsWith(BYTE_ORDER_MARK)) text = text.slice(1);
      this.isFirst = false;
    }
    if (STRUCK.test(text)) this.tokens = END_TOKENS.filter((token) => token !== '</s>');
    const end = tailAt(text, this.tokens);
    this.held = text.slice(end);
    return text.slice(0, end);
  }

  /** Something else follows: what waited was no end. */
  flush(): string {
    const { held } = this;
    this.held = '';
    return held;
  }

  /** The answer is over: whole tokens are dropped, half of one is text. */
  end(): string {
    const held = this.flush();
    return withoutTokens(held, this.tokens) === 0 ? '' : held;
  }
}

/** Where the tail begins that consists of such tokens, with white space between them and perhaps half of one behind. */
function tailAt(text: string, tokens: readonly string[]): number {
  const half = text.lastIndexOf('<');
  const isHalf = half >= 0 && tokens.some((token) => token.startsWith(text.slice(half)));
  return withoutTokens(isHalf && !tokens.includes(text.slice(half)) ? text.slice(0, half) : text, tokens);
}

/** The length of the text without the tokens that it ends with. */
function withoutTokens(text: string, tokens: readonly string[]): number {
  let end = text.length;
  for (;;) {
    const rest = text.slice(0, end).trimEnd();
    const token = tokens.find((each) => rest.endsWith(each));
    if (token === undefined) return end;
    end = rest.length - token.length;
  }
}
