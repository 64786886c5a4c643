import type { ReactNode } from 'react';
import type { ReviewDetailsInfo, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { shortContent, uncoveredText } from '../../../../telltale/src/lib/approved-files.ts';
import { visibleText } from '../../../../telltale/src/lib/text.ts';
import { cx } from '../../ui/class-names.ts';
import { Code } from '../../ui/code.tsx';
import { Icon } from '../../ui/icon.tsx';
import { InvisibleWarning } from '../../ui/invisible-warning.tsx';
import { JsonView } from '../../ui/json-view.tsx';

export interface ReviewExactProps {
  readonly kind: ReviewInfo['kind'];
  /** The part of the question that is not in the title. */
  readonly text: string | undefined;
  readonly className?: string;
}

/** The rest of a question with every character: as code if it would be executed, as prose if a workflow asks. */
export function ReviewExact({ kind, text, className }: ReviewExactProps) {
  if (text === undefined) return null;
  if (kind === 'permission') return <Code text={text} {...(className === undefined ? {} : { className })} />;
  return (
    <div className={cx('flex flex-col gap-2 text-body break-words whitespace-pre-wrap', className)}>
      {paragraphsOf(text).map(({ at, title, body }) => (
        <div key={at}>
          {title === undefined ? null : <p className="font-semibold">{visibleText(title)}</p>}
          <p>{visibleText(body)}</p>
        </div>
      ))}
    </div>
  );
}

/** The paragraphs of a question. A first line such as `The agent's notes:` becomes the paragraph's title. */
function paragraphsOf(text: string) {
  let at = 0;
  return text.split('\n\n').map((part) => {
    const [first = '', ...rest] = part.split('\n');
    const isTitled = rest.length > 0 && /^[A-Z].{2,80}:$/.test(first);
    const paragraph = { at, title: isTitled ? first : undefined, body: isTitled ? rest.join('\n') : part };
    at += part.length + 2;
    return paragraph;
  });
}

/**
 * What to know before deciding: hidden characters, changes since an earlier approval, and files that it does not cover.
 */
export const ReviewWarnings = ({ review }: { readonly review: ReviewDetailsInfo }) => {
  const { what, because, target, action, options, files, uncovered, replaces } = review;
  const { input, parameters, plan } = review;
  const warning = uncoveredText(review);
  return (
    <>
      <InvisibleWarning
        of={[
          [what, because, target, action, options ?? []],
          [files ?? [], uncovered ?? [], replaces?.changed ?? []],
          [input ?? parameters ?? [], plan ?? []],
        ]}
      />
      {replaces === undefined ? null : (
        <Warning>
          You are asked again because something changed after the first approval:{' '}
          {visibleText(replaces.changed.join(', '))}.
        </Warning>
      )}
      {warning === undefined ? null : <Warning>{warning}</Warning>}
    </>
  );
};

const Warning = ({ children }: { readonly children: ReactNode }) => (
  <p className="flex gap-2 rounded-md bg-wait-soft px-3 py-2">
    <Icon name="alert" className="mt-0.5 text-wait" />
    <span className="min-w-0 break-words">{children}</span>
  </p>
);

/** Exactly what is approved, because what is shown is what will run. */
export const ReviewParameters = ({ review }: { readonly review: ReviewDetailsInfo }) => (
  <>
    {review.files === undefined ? null : (
      <Titled title="Files that an approval covers">
        <ul className="font-mono text-small leading-5">
          {review.files.map(({ path, content, leads }) => (
            <li key={path} className="break-all">
              {visibleText(path)}
              {leads === undefined ? '' : ` → ${visibleText(leads)}`}{' '}
              <span className="text-ink-faint" title={content}>
                {shortContent({ content })}
              </span>
            </li>
          ))}
        </ul>
      </Titled>
    )}
    {review.plan === undefined ? null : (
      <Titled title="The plan">
        <JsonView value={review.plan} label="The plan" />
      </Titled>
    )}
    {review.input !== undefined ? (
      <Titled title="Parameters, exactly as they would run">
        <JsonView value={review.input} label="Parameters" />
      </Titled>
    ) : review.parameters !== undefined ? (
      <Titled title="Parameters (shortened)">
        <Code text={review.parameters} />
      </Titled>
    ) : null}
  </>
);

const Titled = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <section>
    <h2 className="mb-1 text-small font-semibold text-ink-faint">{title}</h2>
    {children}
  </section>
);
