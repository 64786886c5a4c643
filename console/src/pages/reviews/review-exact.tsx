import type { ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { visibleText } from '../../../../telltale/src/kernel/visible-text.ts';
import { cx } from '../../ui/class-names.ts';
import { Code } from '../../ui/code.tsx';

export interface ReviewExactProps {
  readonly kind: ReviewInfo['kind'];
  /** What the title does not say. */
  readonly text: string | undefined;
  readonly className?: string;
}

/** The rest of a question, with every character: as code where something would run, as prose where a workflow asks. */
export const ReviewExact = ({ kind, text, className }: ReviewExactProps) =>
  text === undefined ? null : kind === 'permission' ? (
    <Code text={text} {...(className === undefined ? {} : { className })} />
  ) : (
    <p className={cx('text-body break-words whitespace-pre-wrap', className)}>{visibleText(text)}</p>
  );
