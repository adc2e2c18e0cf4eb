/**
 * @fileoverview Users and how they log in.
 */
import { Request, Response } from "express";
import type { Token } from "./token";
import fs = require("fs");
export * from "./errors";

/** Who may do what. */
export interface User<T = unknown> {
  id: string;
  roles: T[];
}

export type Id = string | number;

export enum Role {
  Admin = "admin",
  Guest = "guest",
}

const log = (msg: string) => console.log(msg);

/**
 * Finds a user by id. Returns null if there is none.
 * @param id the id
 */
export const findUser = async <T>(id: Id): Promise<User<T> | null> => {
  const row = await load(id);
  return row ? (row as User<T>) : null;
};

@Injectable()
export class AuthService extends Base implements OnInit {
  private cache = new Map<string, Token>();

  constructor(private readonly http: Http) {
    super();
  }

  /** Validates a token. */
  @Log()
  async validateToken(token: string): Promise<boolean> {
    return this.cache.has(token);
  }

  handle = (req: Request, res: Response): void => {
    res.send(req.body);
  };

  get size(): number {
    return this.cache.size;
  }
}

export abstract class Base {
  abstract run(): void;
  protected stop(): void {
    log("stop");
  }
}

export namespace Util {
  export function clamp(n: number, lo: number, hi: number): number {
    return Math.min(hi, Math.max(lo, n));
  }
}

declare module "legacy" {
  export function old(x: string): void;
}

export default function main(): void {
  log("main");
}

/** Applies a function to what is in a box. */
export const map: {
  <A, B>(f: (a: A) => B): (self: Box<A>) => Box<B>;
  <A, B>(self: Box<A>, f: (a: A) => B): Box<B>;
} = dual(2, (self, f) => make(f(self.value)));

export const size: (self: Box<unknown>) => number =
  internal.size;

export const Row = memo((props: Props) => {
  const label = props.label;
  return render(label);
});

export const limits: { low: number; high: number } = {
  low: 1,
  high: 2,
};
