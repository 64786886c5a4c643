import { createContext, useContext } from 'react';

export interface SignIn {
  readonly token: string | undefined;
  /** Uses this token from now on, or none if it is undefined. */
  readonly signIn: (token: string | undefined) => void;
}

export const SignInContext = createContext<SignIn>({ token: undefined, signIn: () => undefined });

export const useSignIn = (): SignIn => useContext(SignInContext);
