import { Dialog } from '../ui/dialog.tsx';
import { Kbd } from '../ui/kbd.tsx';
import { LISTED_SHORTCUTS } from './shortcuts.ts';

export const ShortcutsHelp = ({
  open,
  onClose,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
}) => (
  <Dialog title="Keyboard shortcuts" open={open} onClose={onClose} wide>
    <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
      {LISTED_SHORTCUTS.map(({ where, keys }) => (
        <section key={where} aria-label={where}>
          <h3 className="mb-1.5 text-small font-semibold text-ink-faint">{where}</h3>
          <dl className="flex flex-col gap-1.5">
            {keys.map((one) => (
              <div key={one.does} className="flex items-center justify-between gap-4">
                <dt>{one.does}</dt>
                <dd className="flex gap-1">
                  {one.keys.map((key) => (
                    <Kbd key={key}>{key}</Kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  </Dialog>
);
