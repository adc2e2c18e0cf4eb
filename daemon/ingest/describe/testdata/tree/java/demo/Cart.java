/*
 * Licensed to the Demo Foundation under one or more contributor license
 * agreements. See the NOTICE file for details.
 */
package demo;

import java.util.ArrayList;
import java.util.List;

/**
 * What a person is about to buy. <p>Prices are those of the {@link PriceList} at
 * the time of the checkout, not of the choice.</p>
 *
 * @author Ann
 * @since 1.2
 */
public class Cart {
  private final List<String> articles = new ArrayList<>();
  private String owner;

  public Cart() {}

  public String getOwner() {
    return owner;
  }

  public void setOwner(String owner) {
    this.owner = owner;
  }

  /**
   * Adds an article, or one more of it.
   *
   * @param article its number
   */
  public void add(String article) {
    articles.add(article);
  }

  /** {@inheritDoc} */
  @Override
  public String toString() {
    return owner + articles;
  }
}
