import { createContext } from 'react';

/** True until the first page has been shown. */
export const ArrivalContext = createContext<{ current: boolean }>({ current: true });
