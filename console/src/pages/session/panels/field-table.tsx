import type { Json } from '../../../../../telltale/src/lib/json.ts';
import { JsonView } from '../../../ui/json-view.tsx';

/** The metadata at the shown moment. */
export const FieldTable = ({ metadata }: { readonly metadata: Readonly<Record<string, Json>> }) => (
  <div>
    <h2 className="mb-1.5 text-small font-semibold">Metadata</h2>
    <JsonView value={metadata} label="Metadata" />
  </div>
);
