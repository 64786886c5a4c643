type Paint = (text: string) => string;

/** The colours a printed diagnostic uses. picocolors' `createColors()` is one. */
export interface Palette {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
  readonly green: Paint;
  readonly cyan: Paint;
}

const plain: Paint = (text) => text;

/** Leaves the text as it is. */
export const plainPalette: Palette = {
  bold: plain,
  dim: plain,
  red: plain,
  yellow: plain,
  green: plain,
  cyan: plain,
};
