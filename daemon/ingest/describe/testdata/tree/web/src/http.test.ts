import { describe, expect, it } from "vitest";
import { get } from "./http";

describe("get", () => {
  it("returns the body of a good answer", async () => {
    expect(await get("/a")).toBeDefined();
  });

  it("throws on an error", async () => {
    await expect(get("/none")).rejects.toThrow();
  });
});
